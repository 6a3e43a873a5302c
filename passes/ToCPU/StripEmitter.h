//===- StripEmitter.h - one strip of rows against one block of keys -------===//
//
// Emits the steps of a StripSchedule: sweeps over the keys with values over rc in registers
// (SweepEmitter), contractions by register tiles, and gradients of tables. Values that must survive
// a sweep are in slots. The skeletons emit the same code twice: once for strips and blocks entirely
// inside the mask, and once for all others (`StripPlace::masked`), with bounded key loops.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STRIPEMITTER_H
#define PE_PASSES_TOCPU_STRIPEMITTER_H

#include "passes/Schedule/StripSchedule.h"
#include "passes/ToCPU/StripValues.h"

namespace mlir::tile::cpu {

/// The accumulators of a column fold: [keys of the block][depth], or [keys], from `at` on.
struct ColumnFold {
  Value memory;
  int64_t depth = 1;
  Index at;

  Index place(const Index &key, const Index &d) const { return at + key * Index(depth) + d; }
};
using ColumnFolds = llvm::DenseMap<Value, ColumnFold>;
using RowPanels = llvm::DenseMap<Value, Panel>;

/// The slots of a stage: [slot][key of the block][row of the strip].
class Slots {
public:
  Slots(StageContext &context, const StripSchedule &schedule)
      : schedule(schedule), cpu(context.cpu) {
    if (schedule.numSlots)
      memory = context.e.scratch(schedule.numSlots * cpu.keyBlock * cpu.stripRows());
  }
  bool has(Value value) const { return schedule.hasSlot(value); }
  Value getMemory() const { return memory; }
  /// Returns the place of row `row` of the strip at `key`.
  Index at(Value value, const Index &key, const Index &row) const {
    return Index(schedule.slots.lookup(value) * cpu.keyBlock * cpu.stripRows()) +
           key * Index(cpu.stripRows()) + row;
  }

private:
  const StripSchedule &schedule;
  const CpuSchedule &cpu;
  Value memory;
};

/// Loads the column bounds, as i32, of the existing rows of vector `vector`.
Value loadColumns(StageContext &context, const StripPlace &place, Value buffer, int64_t vector,
                  Value exists);

/// The mask of the pairs of one strip, as vectors. It is off if the strip is not masked.
class StripMask {
public:
  void begin(StageContext &context, const StripPlace &place);
  bool isOn() const { return !ends.empty(); }
  /// Returns the mask of the lanes of vector `vector` whose rows keep column `column`.
  Value at(const Index &column, int64_t vector) const;
  /// Returns true (an i1) if row `row` of the call keeps column `column`.
  Value at(const Index &row, const Index &column) const;

private:
  StageContext *context = nullptr;
  StripPlace place;
  SmallVector<Value> begins, ends; // per vector, i32
};

struct PaddedPairs;

/// Emits the body of a stream for one strip and one block of keys.
class StripEmitter {
public:
  StripEmitter(StageContext &context, const StripSchedule &schedule, StripValues &values)
      : context(context), e(context.e), schedule(schedule), values(values),
        slots(context, schedule) {}

  /// Emits the body for the strip at values.getPlace(). `values` holds the row inputs (live-ins and
  /// carries), and afterwards the body's values over r. `panels` receive the results of
  /// contractions over c, added to the existing contents if there is no init. `folds` receive the
  /// sums over c.
  void emit(const RowPanels &panels, const ColumnFolds &folds);

  /// Emits the body's contractions over r.
  void emitColumnDots(const StripPlace &place, const ColumnFolds &folds);

private:
  void emitRowOp(Operation *op);
  void emitFill(Operation *op);
  void emitRowDot(DotOp dot, const Panel &into);
  void emitWindowSum(WindowSumOp op, const Panel &into);
  void emitWindowOuter(WindowOuterOp op);
  void emitDiagonals(WindowOuterOp op, const PaddedPairs &pairs, const Index &diagonal,
                     const Index &d, int64_t vectors, int64_t width);
  Value lanesInside(const Index &key, int64_t vector);
  Value isPairInside(const StripPlace &place, const Index &row, const Index &key);
  void emitBlockOp(Operation *op);

  StageContext &context;
  Emitter &e;
  const StripSchedule &schedule;
  StripValues &values;
  Slots slots;
  StripMask mask;
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STRIPEMITTER_H
