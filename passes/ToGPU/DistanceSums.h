//===- DistanceSums.h - sums of vectors per distance, across CTAs ---------===//
//
// Computes the sums of `tile.window_outer`, which are bitwise equal in every run. The sums of the
// distances in a block are in registers, divided among the warps like sums over the owner side
// (FragmentKind::InnerPanel), with one such panel for as many distances as an inner block has
// elements. Each block completes one of these panels, which CTAs add to the table in turns
// (DiagonalUnits.h); the others are carried to the next block.
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_DISTANCESUMS_H
#define PE_PASSES_TOGPU_DISTANCESUMS_H

#include "passes/ToGPU/DiagonalUnits.h"

namespace mlir::tile::gpu {

/// The carried sums of a kernel's `tile.window_outer` ops.
class DistanceSums {
public:
  /// Adds the tickets to the plan.
  DistanceSums(StageOp stage, const GpuSchedule &schedule);

  ArrayRef<Value> getBuffers() const { return buffers; }
  bool isEmpty() const { return targets.empty(); }

  /// Returns the initial values that the loop carries.
  Registers startValues(FragmentKernel &k) const;
  /// Takes the sums that the previous step left from the front of `carried`.
  void beginStep(Step &step, ValueRange &carried) const;
  /// Adds the completed sums in their turn and appends the sums for the next step. The last step of
  /// a head adds all sums.
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
