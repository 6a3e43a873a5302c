//===- Folds.h - sums over the owner side, across CTAs --------------------===//
//
// A fold over the inner side stays in registers. A fold over the owner side (dQ if columns own, dK
// and dV if rows own) adds the sums of different CTAs for one inner block in turns (Turns.h), in
// the order of their items. The last CTA evaluates the stage's ops on the sum.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_FOLDS_H
#define PE_PASSES_TOGPU_FOLDS_H

#include "passes/ToGPU/Step.h"

namespace mlir::tile::gpu {

/// The stream's folds over the owner side.
class OuterFolds {
public:
  /// Adds the buffers of sums and tickets to the plan.
  OuterFolds(StageOp stage, const GpuSchedule &schedule);

  /// Returns true if result `index` of the stream is summed across CTAs.
  bool isOuter(unsigned index) const { return outer.count(index); }
  ArrayRef<Value> getBuffers() const { return buffers; }
  bool hasTurns() const { return static_cast<bool>(tickets); }
  /// Adds the step's yielded values to the outer folds when its turn comes.
  void emitStep(Step &step);
  /// Returns the ops after the stream that do not depend on an outer fold.
  ArrayRef<Operation *> ownerEpilogue() const { return ownerOps; }

private:
  void addStep(Step &step, const Visit<Num> &visit);

  StageOp stage;
  StreamOp stream;
  llvm::MapVector<unsigned, Value> outer; // stream result -> buffer of its sum
  Value tickets;
  SmallVector<Value> buffers;
  SmallVector<Operation *> ownerOps, foldOps;
};

/// Adds a launch before the stage that writes zeros to the inner blocks of `results` that no CTA of
/// the stage visits, because nothing else writes them (UnvisitedBlocks.cpp).
void clearUnvisitedBlocks(StageOp stage, const GpuSchedule &schedule, ArrayRef<Value> results);

/// Adds a value over pairs to buffer [b, hq, r] or [b, hq, c]; `sums` are the lane's sums for its
/// rows or columns (`spaces`). On the owner side, to which only this CTA adds, they are added
/// immediately, otherwise in the order of the inner block's ticket.
void addToLine(Step &step, Value buffer, const SpaceSet &spaces, Registers sums);

/// LineSums.cpp: adds `sums` over the lanes whose numbers differ in `masks`. These halve an even
/// number of sums between them. Returns the number of the first sum that the lane keeps.
Num sumBetweenLanes(FragmentKernel &k, ArrayRef<int> masks, Registers &sums);
/// Adds up the lane's sums for its inner elements in the warp, and stores them.
LineSum stageLine(FragmentKernel &k, Value buffer, const SpaceSet &spaces, Registers sums);
/// Adds the sums of all warps to the buffer. A barrier must separate the two.
void addLineSum(Step &step, const LineSum &line);

/// Returns {r} or {c} if the sum inside a map adds to its pair's row or column, in a buffer
/// [b, hq, r] or [b, hq, c].
std::optional<SpaceSet> lineOf(AccumulateOp sum);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FOLDS_H
