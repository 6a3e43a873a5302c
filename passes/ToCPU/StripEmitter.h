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

#include "passes/ToCPU/StripMask.h"
#include "passes/ToCPU/StripMemory.h"

namespace mlir::tile::cpu {

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

  /// Returns true if several rows of a key head, which keep all keys of a block, can share the
  /// registers of its contractions.
  bool canShareTiles() const;
  /// Emits the body for `count` such rows, with lanes along keys: their scores, the rest of the
  /// body row by row, and their sums over the keys. `enter` begins a row, and returns the panels
  /// that receive its sums; `leave` ends it.
  void emitRows(int64_t count, llvm::function_ref<RowPanels(const Index &)> enter,
                llvm::function_ref<void(const Index &)> leave);

  /// Emits the body's contractions over r.
  void emitColumnDots(const StripPlace &place, const ColumnFolds &folds);

private:
  void emitRowOp(Operation *op);
  void emitFill(Operation *op);
  void emitRowDot(DotOp dot, const Panel &into);
  void emitSweep(const StripSchedule::Step &step, const ColumnFolds &folds, bool hasScores);
  /// Emits the scores of the rows of a tile.
  void emitScoresOfRows(DotOp dot, ArrayRef<Panel> queries);
  /// Emits the products of the weights of the rows of a tile, or one row, if lanes are keys, with
  /// vectors along depth, and adds them to `init`, or to `into` if it is null.
  void emitProductOfRows(DotOp dot, Value init, ArrayRef<Panel> into);
  void emitWindowSum(WindowSumOp op, const Panel &into);
  void emitWindowOuter(WindowOuterOp op);
  void emitDiagonals(WindowOuterOp op, PaddedPairs &pairs, const Index &begin, const Index &end);
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
