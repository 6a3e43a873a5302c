//===- StripEmitter.h - one strip of rows against one block of keys -------===//
//
// Emits the code for the steps of a StripSchedule: sweeps over the keys with values over rc
// in registers (SweepEmitter), contractions by the register tile, gradients of tables;
// values that must survive are in slots. The skeletons emit the same code twice: once
// for strips and blocks that lie wholly inside the mask, and once for all others
// (`StripPlace::masked`), with bounded key loops.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STRIPEMITTER_H
#define PE_PASSES_TOCPU_STRIPEMITTER_H

#include "passes/Schedule/StripSchedule.h"
#include "passes/ToCPU/StripValues.h"

namespace mlir::tile::cpu {

/// Where the accumulators of a column fold are: [keys of the block][depth], or [keys], from `at`
/// on.
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
  /// Row `row` of the strip at `key`.
  Index at(Value value, const Index &key, const Index &row) const {
    return Index(schedule.slots.lookup(value) * cpu.keyBlock * cpu.stripRows()) +
           key * Index(cpu.stripRows()) + row;
  }

private:
  const StripSchedule &schedule;
  const CpuSchedule &cpu;
  Value memory;
};

/// Bounds of columns, as i32, of the rows of vector `vector` that exist.
Value loadColumns(StageContext &context, const StripPlace &place, Value buffer, int64_t vector,
                  Value exists);

/// The mask of the pairs of one strip, as vectors; unused if `masked` is off.
class StripMask {
public:
  void begin(StageContext &context, const StripPlace &place);
  bool isOn() const { return !ends.empty(); }
  /// Lanes of vector `vector` whose row keeps column `column`.
  Value at(const Index &column, int64_t vector) const;
  /// Whether row `row` of the call keeps column `column`: one i1.
  Value at(const Index &row, const Index &column) const;

private:
  StageContext *context = nullptr;
  StripPlace place;
  SmallVector<Value> begins, ends; // per vector, i32
};

struct PaddedPairs;

class StripEmitter {
public:
  StripEmitter(StageContext &context, const StripSchedule &schedule, StripValues &values)
      : context(context), e(context.e), schedule(schedule), values(values),
        slots(context, schedule) {}

  /// The body for the strip at values.getPlace(). `values` holds the row inputs (live-ins,
  /// carries), and afterwards the body's values over r. `panels`: where results of
  /// contractions over c go, added to what is there if they have no init. `folds`: where values
  /// over c are summed.
  void emit(const RowPanels &panels, const ColumnFolds &folds);

  /// The contractions over r of the body.
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
