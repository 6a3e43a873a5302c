//===- DiagonalUnits.h - the order of sums along diagonals ----------------===//
//
// With each inner block, a CTA completes its sums along as many diagonals as the block has
// elements. These diagonals form a unit (dialect/Math/KeptPairs.h).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_DIAGONALUNITS_H
#define PE_PASSES_TOGPU_DIAGONALUNITS_H

#include "passes/ToGPU/Step.h"

namespace mlir::tile::gpu {

/// Computes the units of a CTA, and its turns at them if CTAs add to one table, in the order of
/// their items.
class DiagonalUnits {
public:
  DiagonalUnits(StageOp stage, const GpuSchedule &schedule);

  /// Returns the number of inner blocks in an owner block, which is also the number of open units
  /// between steps.
  int64_t perOwner() const { return schedule.ownerBlock() / schedule.innerBlock; }
  /// Returns true if the stream visits the inner blocks from the last to the first.
  bool isDescending() const { return descends; }
  /// Returns the extents of a buffer with a ticket per unit.
  SmallVector<std::string> ticketExtents() const;
  /// Returns the unit that a step completes (n = 0), or the n-th one still open after it.
  Num unitOf(const Step &step, int64_t n = 0) const;
  /// Returns the CTA's turn at a unit.
  Turn turnAt(Step &step, Value tickets, const Num &unit, std::function<void()> work) const;

private:
  Num orderOf(FragmentKernel &k, const Num &unit) const;

  GpuSchedule schedule;
  bool rows, descends;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_DIAGONALUNITS_H
