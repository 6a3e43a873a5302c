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

#include "passes/ToGPU/FragmentKernel.h"

namespace mlir::tile::gpu {

class OuterFolds {
public:
  /// Adds the buffers of sums and tickets to the plan.
  OuterFolds(StageOp stage, const GpuSchedule &schedule);

  /// Whether result `index` of the stream is summed across CTAs.
  bool isOuter(unsigned index) const { return outer.count(index); }
  ArrayRef<Value> getBuffers() const { return buffers; }
  /// Adds what this step yields to the outer folds, when its turn comes.
  void emitStep(FragmentKernel &k);
  /// Ops behind the stream that do not depend on an outer fold.
  ArrayRef<Operation *> ownerEpilogue() const { return ownerOps; }

private:
  void addStep(FragmentKernel &k, const Num &number, const Num &total);
  Registers addTo(FragmentKernel &k, Value buffer, Spaces spaces, const Registers &registers,
                  Value isFirst);
  void write(FragmentKernel &k, Value buffer, Spaces spaces, const Registers &registers);

  StageOp stage;
  StreamOp stream;
  llvm::DenseMap<unsigned, Value> outer; // stream result -> buffer of its sum
  SmallVector<unsigned> order;
  Value tickets;
  SmallVector<Value> buffers;
  SmallVector<Operation *> ownerOps, foldOps;
};

/// buffer[b, hq, r] += registers, a value over r: at once where rows own, else in the order of the
/// inner block's ticket.
void addToRows(FragmentKernel &k, Value buffer, const Registers &registers);

/// Whether rows own the stage's kernel.
bool rowsOwn(StageOp stage);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FOLDS_H
