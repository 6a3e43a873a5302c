//===- DiagonalUnits.h - whose turn it is at sums along diagonals ---------===//
//
// What a CTA adds up along diagonals is complete after each block for one inner block's worth of
// them: a unit (dialect/Math/KeptPairs.h). CTAs add their units to a table in the order in which
// they started, one table for every `slots`-th owner block.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_DIAGONALUNITS_H
#define PE_PASSES_TOGPU_DIAGONALUNITS_H

#include "passes/ToGPU/Step.h"

namespace mlir::tile::gpu {

class DiagonalUnits {
public:
  DiagonalUnits(StageOp stage, const GpuSchedule &schedule, int64_t slots);

  /// Inner blocks in an owner block: units that are open between two steps.
  int64_t perOwner() const { return schedule.ownerBlock() / schedule.innerBlock; }
  /// Whether the stream goes through the inner blocks from the last to the first.
  bool isDescending() const { return descends; }
  /// Extents of a buffer with a ticket per unit.
  SmallVector<std::string> ticketExtents() const;
  /// The unit that a step completes, and those still open after it, n = 1 ... perOwner().
  Num unitOf(const Step &step, int64_t n = 0) const;
  /// The CTA's turn at a unit.
  Turn turnAt(Step &step, Value tickets, const Num &unit, std::function<void()> work) const;
  Num slotOf(const FragmentKernel &k) const { return k.item.ownerBlock % Num(slots); }

private:
  Num orderOf(FragmentKernel &k, const Num &unit) const;

  GpuSchedule schedule;
  int64_t slots;
  bool rows, descends;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_DIAGONALUNITS_H
