//===- StripSchedule.h - the order of work inside a strip -----------------===//
//
// A strip is a few query rows (lanes) against one block of keys. The body of a stream is split into
// steps. A step first computes values over r. It then sweeps over the keys once and computes values
// over rc for a few keys at a time in registers. Operations that read an entire block of these
// values from memory (contractions over c and r, gradients of tables) come last.
//
// The phase rule: a value belongs to the first step in which all of its operands exist; the results
// of a reduction over c and the carry of a scan exist one step later. There are two kinds of sweep:
// `tiles` hold contractions over depth and evaluate their consumers in the accumulators; the others
// are elementwise, in the order of their scans. An elementwise op waits until the first step that
// uses its result, so that fewer values are kept: softmax keeps scores in step 0 and turns them
// into probabilities in place in step 1.
//
// A value over rc has a slot, a block [keys][rows] of scratch, if its users are in a later step,
// after a later contraction of the same sweep, or read it from memory. Slots are allocated like
// registers.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_STRIPSCHEDULE_H
#define PE_PASSES_SCHEDULE_STRIPSCHEDULE_H

#include "dialect/Tile/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <string>

namespace mlir::tile {

/// The order of evaluation of a stream's body, and the scratch memory of its values.
struct StripSchedule {
  struct Step {
    /// Ops on values over r and h (and snapshots), before the sweep.
    SmallVector<Operation *> rowOps;
    /// Ops that fill their slot for all keys of the block, before the sweep.
    SmallVector<Operation *> fills;
    /// The sweep: ops on values over rc, in the order of evaluation.
    SmallVector<Operation *> sweep;
    bool tiles = false;
    Order order = Order::Any;
    /// After the sweep: ops that read entire blocks from slots, and contractions over c.
    SmallVector<Operation *> blockOps;
    SmallVector<Operation *> rowDots;
  };
  /// The last step has no sweep if only values over r depend on the previous step.
  SmallVector<Step, 0> steps;
  /// Contractions over r; their left operands stay in their slots until the end of the body.
  SmallVector<DotOp> columnDots;
  llvm::DenseMap<Value, unsigned> slots;
  unsigned numSlots = 0;
  /// The value that is 0 at pairs that the code of a mask drops (StreamOp::getCondition), or null.
  /// It keeps its slot until the end of the body, because all ops that skip masked pairs read it.
  Value condition;
  /// Values with a slot that an op other than a contraction reads from it.
  llvm::DenseSet<Value> readByOthers;
  /// Values that must be stored as zero outside the mask.
  llvm::DenseSet<Value> zeroOutside;

  bool hasSlot(Value value) const { return slots.count(value); }
  /// Returns true if the op only computes the condition.
  bool isOfCondition(Operation *op) const { return condition && condition.getDefiningOp() == op; }

  /// Computes the schedule of a stream. Fails with the reason in `why` if its body cannot be fused.
  static FailureOr<StripSchedule> compute(StreamOp stream, std::string &why);
};

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_STRIPSCHEDULE_H
