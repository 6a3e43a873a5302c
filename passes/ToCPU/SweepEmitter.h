//===- SweepEmitter.h - one pass over the keys of a block -----------------===//
//
// A sweep visits the keys of a block a few at a time. In a sweep with contractions over depth,
// these keys are the rows of a register tile: after each contraction, the elementwise operations
// that follow are evaluated on its accumulators, key by key and vector by vector, so that few
// registers are live at the same time. Reductions and scans are in registers carried from key to
// key. If lanes are keys, `key` is a vector of keys, and there is one row (RowSweep.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_SWEEPEMITTER_H
#define PE_PASSES_TOCPU_SWEEPEMITTER_H

#include "passes/ToCPU/StripMask.h"
#include "passes/ToCPU/StripMemory.h"

namespace mlir::tile::cpu {

/// Emits the sweep of one step.
class SweepEmitter {
public:
  SweepEmitter(StageContext &context, const StripSchedule::Step &step, StripValues &values,
               const Slots &slots, const StripSchedule &schedule, const StripMask &mask,
               const ColumnFolds &folds, bool hasScores = false);

  /// Emits the sweep and passes its results over r to `values`.
  void emit();

private:
  /// The registers that an operation carries from key to key: one per query vector, or one.
  struct Carry {
    Operation *op;
    SmallVector<Value> vectors;
  };

  int64_t keysPerStep() const;
  /// Returns the number of keys of an element: one, or a vector of them.
  int64_t keysOfElement() const { return context.cpu.isAlongKeys() ? e.lanes : 1; }
  void prepare();
  void emitStep(const Index &firstKey);
  void emitSegment(ArrayRef<Operation *> ops);
  void emitElement(Operation *op, int64_t key, int64_t vector);
  void emitMap(MapOp map, int64_t key, int64_t vector);
  void emitAccumulate(AccumulateOp op, int64_t key, int64_t vector);
  void addLanes(AccumulateOp op, Value reg, int64_t vector);
  void addTo(AccumulateOp op, Value scalar, llvm::function_ref<Value(Value)> indexOf);
  void emitScan(ScanOp scan, int64_t key, int64_t vector);
  /// Returns the factor of the scan's state, 1 outside the mask.
  Value scanFactor(ScanOp scan, int64_t key, int64_t vector);
  void emitReduce(ReduceOp reduce, int64_t key, int64_t vector);
  void emitDot(DotOp dot);
  void emitWindowDot(WindowDotOp dot);
  SmallVector<Value> emitWindowTile(WindowDotOp dot, ValueRange zeros);
  Value meetsDistances(int64_t low, int64_t high);
  void keepTile(Value output, SmallVector<Value> tile);
  /// Returns a value over r as a vector.
  Value vectorOfRow(Value value, int64_t vector);
  void prepareWindow(Value table);
  Index entryOf(int64_t key);
  Value emitWindow(WindowOp window, int64_t key, int64_t vector);
  void finish();
  // If lanes are keys:
  Value emitRowScan(ScanOp scan, int64_t key);
  Value emitRowDot(DotOp dot, int64_t key);
  Value emitRowWindowDot(WindowDotOp dot, int64_t key);
  void finishRow(const Carry &carry);

  /// Returns the register of `value`, loaded from its slot if necessary.
  Value element(Value value, int64_t key, int64_t vector);
  void define(Value value, int64_t key, int64_t vector, Value reg);
  /// Returns true if `user` is a contraction by pairs whose left operand is `value`.
  bool readsWords(Operation *user, Value value) const {
    auto dot = dyn_cast<DotOp>(user);
    return dot && !isDepth(dot.getAxis()) && dot.getLhs() == value &&
           cpu::isByPairs(context.cpu, dot);
  }
  void storeWords(Value value, int64_t key, int64_t vector, Value reg);
  SmallVector<Value> emitDotOfPairs(DotOp dot, ArrayRef<Index> rowsOfKeys, ValueRange acc);
  /// Returns `reg` if the pair is inside the mask, else `outside`.
  Value inside(Value reg, int64_t key, int64_t vector, double outside);
  bool isFilledWith(Value value, double number) const;
  Value maskAt(int64_t key, int64_t vector);
  /// Returns true for the op of the condition if all pairs are kept, because nothing reads it then.
  bool isLeftOut(Operation *op) const { return !mask.isOn() && schedule.isOfCondition(op); }
  Index columnOf(int64_t key) const { return place.block + keys[key]; }
  Carry &carryOf(Operation *op);

  StageContext &context;
  Emitter &e;
  const StripSchedule::Step &step;
  StripValues &values;
  const Slots &slots;
  const StripSchedule &schedule;
  const StripMask &mask;
  const ColumnFolds &folds;
  const StripPlace &place;
  const int64_t vectors;
  const bool hasScores; // the scores of this row are in their slots

  SmallVector<Carry> carries;
  llvm::DenseMap<Value, Index> bases; // of windows
  llvm::DenseMap<Value, KeyPanel> keyPanels;
  Index distance; // entry of a window for the strip's first row, key 0
  // One vector in memory per element type and number, for extracting single lanes.
  llvm::DenseMap<std::pair<Type, unsigned>, Value> laneScratch;
  // The state of the current step: its keys, relative to the block, and values in registers.
  SmallVector<Index> keys;
  llvm::DenseMap<Value, SmallVector<Value>> registers;
  llvm::DenseMap<Value, SmallVector<Value>> narrow; // operands of contractions by pairs, in bf16
  SmallVector<Value> masks;
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_SWEEPEMITTER_H
