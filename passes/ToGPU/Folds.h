//===- Folds.h - sums over the owner side, across CTAs --------------------===//
//
// A fold over the inner side stays in registers. One over the owner side (dQ where columns own, dK
// and dV where rows own) adds up what different CTAs have for one inner block, in turns (Turns.h):
// descending owner blocks, query heads of a key head ascending. The last one does what the stage
// does with the sum.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_FOLDS_H
#define PE_PASSES_TOGPU_FOLDS_H

#include "passes/ToGPU/Step.h"

namespace mlir::tile::gpu {

class OuterFolds {
public:
  /// Adds the buffers of sums and tickets to the plan.
  OuterFolds(StageOp stage, const GpuSchedule &schedule);

  /// Whether result `index` of the stream is summed across CTAs.
  bool isOuter(unsigned index) const { return outer.count(index); }
  ArrayRef<Value> getBuffers() const { return buffers; }
  bool hasTurns() const { return static_cast<bool>(tickets); }
  /// Adds what this step yields to the outer folds, when its turn comes.
  void emitStep(Step &step);
  /// Ops behind the stream that do not depend on an outer fold.
  ArrayRef<Operation *> ownerEpilogue() const { return ownerOps; }

private:
  void addStep(Step &step, const Num &number, const Num &total);
  Registers addTo(Step &step, Value buffer, const SpaceSet &spaces, const Registers &registers,
                  Value isFirst);
  void write(Step &step, Value buffer, const SpaceSet &spaces, const Registers &registers);

  void clear(BufferOp buffer);

  StageOp stage;
  StreamOp stream;
  llvm::DenseMap<unsigned, Value> outer; // stream result -> buffer of its sum
  SmallVector<unsigned> order;
  Value tickets;
  SmallVector<Value> buffers;
  SmallVector<Operation *> ownerOps, foldOps;
};

/// Adds up a value over pairs, of which a lane has `sums` for its rows or columns (`spaces`), and
/// adds it to buffer [b, hq, r] or [b, hq, c]: at once on the owner side, where only this CTA does,
/// else in the order of the inner block's ticket.
void addToLine(Step &step, Value buffer, const SpaceSet &spaces, Registers sums);

/// R or C where the sum inside a map goes to its pair's row or column of a buffer [b, hq, r] or
/// [b, hq, c].
std::optional<SpaceSet> lineOf(AccumulateOp sum);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FOLDS_H
