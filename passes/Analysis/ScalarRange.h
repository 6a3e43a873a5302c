//===- ScalarRange.h - ranges of scalar code over a block of pairs -*- C++ -*-===//
//
// Computes bounds of the values of a region over a block of pairs (i, j), op by op: an integer has
// a minimum and a maximum; a boolean is true for all pairs, for some or for none. Values that do
// not depend on both i and j are leaves, whose ranges the caller computes from the values
// themselves. Operations without a rule have no bounds, so a range is never too narrow.
//
// Worked example. `abs(i // 32 - j // 32) <= 3` has the leaves i // 32 and j // 32. Over rows 64 to
// 127 and columns 512 to 575 they are in [2, 3] and [16, 17]; the difference is in [-15, -13], its
// negation in [13, 15], the maximum of both in [13, 15], and no pair satisfies <= 3.
//
// Integers are computed as `index`. To avoid overflow, every range has a power of two that bounds
// its magnitude; an integer that could overflow the type of the code has no range.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_SCALARRANGE_H
#define PE_PASSES_ANALYSIS_SCALARRANGE_H

#include "passes/Analysis/Dependence.h"

namespace mlir::pe {

/// For an integer: `index` values that bound it, with magnitudes below 2^bits. For a boolean: two
/// i1 values that tell whether it is true for all pairs and for some pair.
struct ScalarRange {
  Value least, most;
  unsigned bits = 1;
};

/// The magnitude of a leaf must be below 2^kLeafBits.
constexpr unsigned kLeafBits = 40;

/// Returns the leaves that `root`, an i1 of a region, depends on, without duplicates. A leaf
/// depends on i, on j or on neither.
SmallVector<Value> rangeLeavesOf(Value root, const RegionDependence &dependence);

/// Emits the range of `root`; `rangeOf` returns the ranges of its leaves. Returns std::nullopt if
/// the code cannot decide any block.
std::optional<ScalarRange> emitRange(Value root, const RegionDependence &dependence,
                                     OpBuilder &builder, Location loc,
                                     llvm::function_ref<ScalarRange(Value)> rangeOf);

/// Returns true if a leaf depends on i or j. Without such a leaf all blocks have the same range.
bool knowsBlocks(Value root, const RegionDependence &dependence);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_SCALARRANGE_H
