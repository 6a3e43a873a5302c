//===- ScalarRange.h - Scalar code over a block of pairs --------*- C++ -*-===//
//
// What the value of a region can be over a block of pairs (i, j), op by op: a number lies between a
// least and a greatest one, a truth value holds for all pairs, for some or for none. Values that do
// not change with both i and j are leaves: whoever asks knows their range, from the numbers
// themselves. What has no rule here may be anything, so a range is never too narrow.
//
// Worked example. `abs(i // 32 - j // 32) <= 3` has the leaves i // 32 and j // 32. Over rows 64 to
// 127 and columns 512 to 575 they lie in [2, 3] and [16, 17]; the difference lies in [-15, -13],
// its negation in [13, 15], the larger of both in [13, 15], and no pair is at most 3.
//
// Numbers are computed as `index`. That needs room: every range carries a power of two that its
// numbers stay below, and where one could overflow the type of the code nothing is known.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_SCALARRANGE_H
#define PE_PASSES_ANALYSIS_SCALARRANGE_H

#include "passes/Analysis/Dependence.h"

namespace mlir::pe {

/// Of a number: index values between which it lies, of magnitudes below 2^bits. Of a truth value:
/// i1 values, whether it holds for all pairs and whether it holds for some.
struct ScalarRange {
  Value least, most;
  unsigned bits = 1;
};

/// Leaves may be as large as this power of two.
constexpr unsigned kLeafBits = 40;

/// The leaves that say something about `root`, an i1 of a region, each once. A leaf changes with i
/// or with j or with neither.
SmallVector<Value> rangeLeavesOf(Value root, const RegionDependence &dependence);

/// Emits the range of `root`, with those of its leaves from `rangeOf`; none where the code says
/// nothing about blocks.
std::optional<ScalarRange> emitRange(Value root, const RegionDependence &dependence,
                                     OpBuilder &builder, Location loc,
                                     llvm::function_ref<ScalarRange(Value)> rangeOf);

/// Whether some leaf changes with i or j: without one, nothing tells one block from another.
bool knowsBlocks(Value root, const RegionDependence &dependence);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_SCALARRANGE_H
