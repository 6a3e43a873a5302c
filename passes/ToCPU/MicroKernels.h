//===- MicroKernels.h - the register tile of all contractions -------------===//
//
// acc[m][n] += sum over t of scalar(t, m) * vector(t, n): `rows` scalars, each broadcast
// against `vectors` vectors, with one accumulator per pair carried by the loop over t.
//
// It has three roles:
//   scores        m = key,   n = query vector, t = depth:  rows of keys and packed queries
//   row outputs   m = depth, n = query vector, t = key:    rows of values and probabilities
//   column folds  m = key,   n = depth vector, t = query:  probabilities and rows
//
// With `pairs`, t counts pairs of depths, keys or queries, and every operand is a word of two bf16.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_MICROKERNELS_H
#define PE_PASSES_TOCPU_MICROKERNELS_H

#include "passes/ToCPU/Emitter.h"

namespace mlir::tile::cpu {

/// The shape of a register tile.
struct TileShape {
  int64_t rows, vectors;
  int64_t unroll = 1;
  int64_t width = 0; // lanes of a vector; 0 means the target's
  /// Scalars and vectors are words of two bf16, and t counts pairs of the contracted axis.
  bool pairs = false;
};

using TileOperand = llvm::function_ref<Value(Index t, int64_t i)>;
/// Returns the vectors of row m, one per n, for products whose scalar operand is a separate vector
/// for every accumulator.
using TileRow = llvm::function_ref<SmallVector<Value>(Index t, int64_t m)>;

/// Emits the product for t in [begin, end). `acc` holds rows * vectors accumulators, row by row;
/// returns their new values.
SmallVector<Value> emitTileProduct(Emitter &e, const TileShape &shape, const Index &begin,
                                   const Index &end, ValueRange acc, TileOperand vector,
                                   TileOperand scalar);
/// Emits the same product with vectors instead of broadcast scalars.
SmallVector<Value> emitTileProductOfRows(Emitter &e, const TileShape &shape, const Index &begin,
                                         const Index &end, ValueRange acc, TileOperand vector,
                                         TileRow row);

/// Returns true if scalar(t, m) and vector(t, n) form an unmasked pair: an i1 or a vector of i1.
/// Here t is a single key or query even if the operands are pairs of them.
using TileCondition = llvm::function_ref<Value(Index t, int64_t m, int64_t n)>;

/// Emits the product of two operands, one of which is 0 in masked pairs. In these pairs the other
/// operand must have no effect, even if it is NaN, so a result with a NaN is recomputed pair by
/// pair.
SmallVector<Value> emitTileProductOfPairs(Emitter &e, const TileShape &shape, const Index &begin,
                                          const Index &end, ValueRange acc, TileOperand vector,
                                          TileOperand scalar, TileCondition counts);
/// Emits the same masked product with vectors instead of broadcast scalars.
SmallVector<Value> emitTileProductOfRowsAndPairs(Emitter &e, const TileShape &shape,
                                                 const Index &begin, const Index &end,
                                                 ValueRange acc, TileOperand vector, TileRow row,
                                                 TileCondition counts);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_MICROKERNELS_H
