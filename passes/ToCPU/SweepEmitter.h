//===- SweepEmitter.h - one pass over the keys of a block -----------------===//
//
// A sweep visits the keys of a block a few at a time. In a sweep with contractions over
// depth these few are the rows of a register tile: each contraction leaves its
// accumulators, and the elementwise operations that follow are evaluated in them, key by
// key and vector by vector, so that few registers are live at once. Reductions and scans
// live in registers carried from key to key.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_SWEEPEMITTER_H
#define PE_PASSES_TOCPU_SWEEPEMITTER_H

#include "passes/ToCPU/StripEmitter.h"

namespace mlir::tile::cpu {

class SweepEmitter {
public:
  SweepEmitter(StageContext &context, const StripSchedule::Step &step, StripValues &values,
               const Slots &slots, const StripSchedule &schedule, const StripMask &mask,
               const ColumnFolds &folds);

  /// Emits the sweep and gives `values` the results over r.
  void emit();

private:
  /// What is carried from key to key for an operation: one vector per query vector, or one.
  struct Carry {
    Operation *op;
    SmallVector<Value> vectors;
  };

  int64_t keysPerStep() const;
  void prepare();
  void emitStep(const Index &firstKey);
  void emitSegment(ArrayRef<Operation *> ops);
  void emitElement(Operation *op, int64_t key, int64_t vector);
  void emitMap(MapOp map, int64_t key, int64_t vector);
  void emitAccumulate(AccumulateOp op, int64_t key, int64_t vector);
  void addLanes(AccumulateOp op, Value reg, int64_t vector);
  void addTo(AccumulateOp op, Value scalar, llvm::function_ref<Value(Value)> indexOf);
  void emitScan(ScanOp scan, int64_t key, int64_t vector);
  void emitReduce(ReduceOp reduce, int64_t key, int64_t vector);
  void emitDot(DotOp dot);
  void emitWindowDot(WindowDotOp dot);
  void keepTile(Value output, SmallVector<Value> tile);
  void prepareWindow(Value table);
  Index entryOf(int64_t key);
  Value emitWindow(WindowOp window, int64_t key, int64_t vector);
  void finish();

  /// The register of `value`, loaded from its slot if need be.
  Value element(Value value, int64_t key, int64_t vector);
  void define(Value value, int64_t key, int64_t vector, Value reg);
  /// `reg` where the pair is inside the mask, else `outside`.
  Value inside(Value reg, int64_t key, int64_t vector, double outside);
  bool isFilledWith(Value value, double number) const;
  Value maskAt(int64_t key, int64_t vector);
  /// Where all pairs take part, nothing asks for the condition.
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

  SmallVector<Carry> carries;
  llvm::DenseMap<Value, Index> bases; // of windows and key panels
  Index distance;                     // entry of a window for the strip's first row, key 0
  // A vector in memory per element type and number, for extracting lanes one by one.
  llvm::DenseMap<std::pair<Type, unsigned>, Value> laneScratch;
  // Of the current step: the keys, relative to the block, and what is in registers.
  SmallVector<Index> keys;
  llvm::DenseMap<Value, SmallVector<Value>> registers;
  SmallVector<Value> masks;
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_SWEEPEMITTER_H
