//===- MicroKernels.h - the register tile all contractions are made of ----===//
//
// acc[m][n] += sum over t of scalar(t, m) * vector(t, n): `rows` scalars, each broadcast
// against `vectors` vectors, with one accumulator per pair carried by the loop over t.
//
// Three roles (facts in docs/benchmarks/cpu-kernels.md):
//   scores        m = key,   n = query vector, t = depth:  keys' rows against packed queries
//   row outputs   m = depth, n = query vector, t = key:    values' rows against probabilities
//   column folds  m = key,   n = depth vector, t = query:  probabilities against rows
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_MICROKERNELS_H
#define PE_PASSES_TOCPU_MICROKERNELS_H

#include "passes/ToCPU/Emitter.h"

namespace mlir::tile::cpu {

struct TileShape {
  int64_t rows, vectors;
  int64_t unroll = 1;
  int64_t width = 0; // lanes of a vector; 0 for the target's
};

using TileOperand = llvm::function_ref<Value(Index t, int64_t i)>;
/// Where every accumulator has a vector of its own in place of a scalar, vector(t, n) at row m:
/// those of the row, one per n.
using TileRow = llvm::function_ref<SmallVector<Value>(Index t, int64_t m)>;

/// `acc` holds rows * vectors accumulators, row by row; returns them after t in [begin, end).
SmallVector<Value> emitTileProduct(Emitter &e, const TileShape &shape, const Index &begin,
                                   const Index &end, ValueRange acc, TileOperand vector,
                                   TileOperand scalar);
SmallVector<Value> emitTileProductOfRows(Emitter &e, const TileShape &shape, const Index &begin,
                                         const Index &end, ValueRange acc, TileOperand vector,
                                         TileRow row);

/// Whether scalar(t, m) and vector(t, n) form an unmasked pair: i1, or a vector of i1.
using TileCondition = llvm::function_ref<Value(Index t, int64_t m, int64_t n)>;

/// The same where one operand is 0 in masked pairs: there the other operand has no effect either,
/// not even as a NaN. A result with a NaN is recomputed pair by pair.
SmallVector<Value> emitTileProductOfPairs(Emitter &e, const TileShape &shape, const Index &begin,
                                          const Index &end, ValueRange acc, TileOperand vector,
                                          TileOperand scalar, TileCondition counts);
SmallVector<Value> emitTileProductOfRowsAndPairs(Emitter &e, const TileShape &shape,
                                                 const Index &begin, const Index &end,
                                                 ValueRange acc, TileOperand vector, TileRow row,
                                                 TileCondition counts);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_MICROKERNELS_H
