//===- DistanceSums.h - sums of vectors per distance, across CTAs ---------===//
//
// What `tile.window_outer` adds up, the same to the bit in every run. The sums of the distances
// that a block meets lie in registers, divided among the warps like sums over the owner side
// (FragmentKind::InnerPanel), one such panel per inner block's worth of distances. After each block
// one of them is complete: CTAs add it to the table in turns (DiagonalUnits.h); the others go on to
// the next block.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_DISTANCESUMS_H
#define PE_PASSES_TOGPU_DISTANCESUMS_H

#include "passes/ToGPU/DiagonalUnits.h"

namespace mlir::tile::gpu {

class DistanceSums {
public:
  /// Adds the tickets to the plan.
  DistanceSums(StageOp stage, const GpuSchedule &schedule);

  ArrayRef<Value> getBuffers() const { return buffers; }
  bool isEmpty() const { return targets.empty(); }

  /// What the loop carries, before the first step.
  Registers startValues(FragmentKernel &k) const;
  /// Takes what the step before has left off the front of `carried`.
  void beginStep(Step &step, ValueRange &carried) const;
  /// Adds what is complete, when its turn comes, and appends what the next step takes; the last
  /// step of a head adds everything.
  void endStep(Step &step, SmallVector<Value> &yielded) const;

private:
  struct Target {
    Value table, tickets;
    int64_t depth;
  };
  int64_t registersOf(const FragmentKernel &k, const Target &target) const;
  Turn turnOf(Step &step, const Target &target, int64_t n, ArrayRef<Value> sums) const;
  void add(Step &step, const Target &target, int64_t n, ArrayRef<Value> sums) const;

  DiagonalUnits units;
  SmallVector<Target> targets;
  SmallVector<Value> buffers;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_DISTANCESUMS_H
