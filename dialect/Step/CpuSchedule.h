//===- CpuSchedule.h - block sizes and register tiles of a CPU stage ------===//
//
// The defaults were measured on Zen 3 (AVX2) and Zen 5 (AVX-512); see docs/benchmarks/cpu.md. A
// strip is the block of query rows that the vectors of one register tile cover: query_vectors *
// lanes rows. With `along = keys`, a strip is one row, and the lanes of its vectors are keys, or
// depths of a panel: for stages of few rows, which would leave the lanes of rows idle. Then
// query_vectors is the largest number of rows of a register tile: a query has one vector of scores.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_STEP_CPUSCHEDULE_H
#define PE_DIALECT_STEP_CPUSCHEDULE_H

#include "dialect/Step/Fields.h"

namespace mlir::tile {

/// The method by which exp2 scales by a power of two: `Bits` sets the exponent bits of a factor
/// (any target), `ScaleF` is a single AVX-512 instruction.
enum class Exp2Flavour { Bits, ScaleF };

/// The instructions of contractions: `Fma` multiplies f32 vectors, `PairDot` adds the products of
/// two pairs of bf16 to every f32 lane (vdpbf16ps). `PairDot` rounds the operands to bf16, to
/// nearest even; sums are f32.
enum class ProductBy { Fma, PairDot };

/// The most rows of a call that stages of few rows (`along = keys`) compute: the number up to which
/// vectors along the keys of a row are faster than vectors along rows (docs/benchmarks/decode.md).
inline constexpr int64_t kFewRows = 8;

/// The choices for a stage with a stream on a CPU: the fields of `#step.cpu`.
struct CpuSchedule {
  int64_t ownerWord = 0; // an Owner
  int64_t alongWord = 0; // the axis of the lanes: 0 rows, 1 keys
  int64_t lanes = 8;
  int64_t queryVectors = 2;  // vectors of queries in a tile (lanes along queries), or queries
  int64_t keyRows = 4;       // keys in a tile of scores
  int64_t depthRows = 4;     // depths in a tile of an output
  int64_t columnRows = 4;    // keys in a tile of a column fold (lanes along depth)
  int64_t columnVectors = 2; // vectors of depth in a tile of a column fold
  int64_t sweepKeys = 4;     // keys per step of an elementwise sweep
  int64_t unroll = 4;        // steps per iteration of a contraction
  int64_t queryBlock = 96;   // rows of a work item, if rows own the loop; with `along = keys`, of
                             // all query heads of a key head
  int64_t keyBlock = 64;
  // If columns own the loop, the rows are divided into parts (passes/ToCPU/RowParts.h). The
  // division depends only on the lengths of a call, because results depend on the parts and must
  // not depend on the number of cores.
  int64_t partRows = 512; // approximate minimum, over all query heads of a key head
  int64_t mostParts = 8;
  int64_t splitBelow = 16; // with this many heads or more, an item has all parts of its head
  int64_t exp2Word = 0;    // an Exp2Flavour
  int64_t byWord = 0;      // a ProductBy

  static ArrayRef<step::Field<CpuSchedule>> fields();
  bool operator==(const CpuSchedule &) const = default;
  Owner owner() const { return static_cast<Owner>(ownerWord); }
  Exp2Flavour exp2() const { return static_cast<Exp2Flavour>(exp2Word); }
  ProductBy by() const { return static_cast<ProductBy>(byWord); }
  /// Returns true if contractions add products of pairs of bf16.
  bool isByPairs() const { return by() == ProductBy::PairDot; }
  bool isAlongKeys() const { return alongWord == 1; }
  int64_t stripRows() const { return isAlongKeys() ? 1 : queryVectors * lanes; }
  /// Returns the number of floats of a strip's value over r in memory; panels follow it, aligned.
  int64_t rowFloats() const { return isAlongKeys() ? lanes : stripRows(); }
  /// Returns the number of floats of a row panel with this depth, in whole vectors.
  int64_t panelFloats(int64_t depth) const {
    return isAlongKeys() ? (depth + lanes - 1) / lanes * lanes : depth * stripRows();
  }
  /// Returns the unit of the key block: every step of a loop over its keys divides this.
  int64_t keyUnit() const;
  /// Verifies that blocks are multiples of their tiles.
  LogicalResult verify(llvm::function_ref<InFlightDiagnostic()> emitError) const;
};

/// The choices for a stage without a stream on a CPU: the fields of `#step.loops`.
struct CpuLoops {
  int64_t lanes = 8;
  /// The number of consecutive stage items that one call of the stage's function computes.
  int64_t group = 1;

  static ArrayRef<step::Field<CpuLoops>> fields();
  bool operator==(const CpuLoops &) const = default;
};

llvm::hash_code hash_value(const CpuSchedule &schedule);
llvm::hash_code hash_value(const CpuLoops &loops);

} // namespace mlir::tile

#endif // PE_DIALECT_STEP_CPUSCHEDULE_H
