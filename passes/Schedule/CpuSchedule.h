//===- CpuSchedule.h - block sizes and register tiles of a CPU stage ------===//
//
// What a stage's `cpu_schedule` attribute says. Measured on Zen 3 (AVX2) and Zen 5
// (AVX-512), see docs/benchmarks/cpu-kernels.md. A strip is the number of query rows
// that one vector register row of a tile covers: query_vectors * lanes.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_CPUSCHEDULE_H
#define PE_PASSES_SCHEDULE_CPUSCHEDULE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/LogicalResult.h"

#include <optional>
#include <string>

namespace mlir::tile {

/// How exp2 multiplies by a power of two: `Bits` sets its exponent bits and multiplies (any
/// target), `ScaleF` is a single AVX-512 instruction.
enum class Exp2Flavour { Bits, ScaleF };

/// x86-64-v3 (AVX2 and FMA, 16 registers) or x86-64-v4 (AVX-512, 32 registers).
enum class CpuTarget { V3, V4 };
std::optional<CpuTarget> parseCpuTarget(llvm::StringRef name);

struct CpuSchedule {
  static constexpr llvm::StringLiteral kAttribute = "cpu_schedule";

  int64_t lanes = 8;
  int64_t queryVectors = 2;  // vectors of queries in a tile (lanes along queries)
  int64_t keyRows = 4;       // keys in a tile of scores
  int64_t depthRows = 4;     // depths in a tile of an output
  int64_t columnRows = 4;    // keys in a tile of a column fold (lanes along depth)
  int64_t columnVectors = 2; // vectors of depth in a tile of a column fold
  int64_t sweepKeys = 4;     // keys per step of an elementwise sweep
  int64_t unroll = 4;        // steps per iteration of a contraction
  int64_t queryBlock = 96;   // rows of a work item, where rows own the loop
  int64_t keyBlock = 64;
  // Where columns own the loop, rows are divided into parts (passes/ToCPU/RowParts.h), by the
  // lengths of a call alone: results depend on the parts, but must not depend on the number of
  // cores.
  int64_t partRows = 512; // rows of a part, over all query heads of a key head, are at least about
  int64_t mostParts = 8;
  int64_t splitBelow = 16; // so many key heads are work items enough: an item walks all its parts
  Exp2Flavour exp2 = Exp2Flavour::Bits;

  int64_t stripRows() const { return queryVectors * lanes; }
  /// Loops over the keys of a block use steps that divide this.
  int64_t keyUnit() const;

  DictionaryAttr toAttr(MLIRContext *context) const;
  static FailureOr<CpuSchedule> fromAttr(DictionaryAttr attr);
};

/// What a stage of loops (without a stream) says in its `cpu_loops`.
struct CpuLoops {
  static constexpr llvm::StringLiteral kAttribute = "cpu_loops";

  int64_t lanes = 8;
  /// Items of the stage that are one item of its function.
  int64_t group = 1;

  DictionaryAttr toAttr(MLIRContext *context) const;
  /// Nothing where an entry is missing or not positive.
  static std::optional<CpuLoops> fromAttr(DictionaryAttr attr);
};

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_CPUSCHEDULE_H
