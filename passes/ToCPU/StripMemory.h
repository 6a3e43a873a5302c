//===- StripMemory.h - memory of a strip against a block of keys ----------===//
//
// The memory that the emitters of a strip share: slots for values over rc that must survive a sweep
// (StripSchedule), row panels, and the accumulators of column folds.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STRIPMEMORY_H
#define PE_PASSES_TOCPU_STRIPMEMORY_H

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

/// The slots of a stage: [slot][key of the block][row of the strip]. Operands of contractions by
/// pairs are in separate slots of words, half of which hold [pair of keys][row], for contractions
/// over keys, and half [key][pair of rows], for those over rows. If lanes are keys, every row
/// of a register tile has its slots, and further ones for the scores of the tile.
class Slots {
public:
  Slots(StageContext &context, const StripSchedule &schedule)
      : schedule(schedule), cpu(context.cpu) {
    if (context.tileRows > 1)
      for (const StripSchedule::Step &step : schedule.steps)
        for (Operation *op : step.sweep)
          if (auto dot = dyn_cast<DotOp>(op))
            scores.push_back(dot);
    floats = (schedule.numSlots + scores.size()) * floatsOfSlot();
    if (floats)
      memory = context.e.scratch(floats * context.tileRows);
    if (schedule.numSlots && cpu.isByPairs())
      words = context.e.scratch(schedule.numSlots * floatsOfSlot());
  }
  /// Selects the slots of row `row` of a tile.
  void select(const Index &row) { first = row * Index(floats); }
  /// The contractions over depth of the sweeps, if several rows can share them.
  ArrayRef<DotOp> getScores() const { return scores; }
  /// Returns the place of the score at `key`.
  Index scoreAt(DotOp dot, const Index &key) const {
    const int64_t number = schedule.numSlots + (llvm::find(scores, dot) - scores.begin());
    return first + Index(number * cpu.keyBlock) + key;
  }
  bool has(Value value) const { return schedule.hasSlot(value); }
  Value getMemory() const { return memory; }
  Value getWords() const { return words; }
  /// Returns the place of row `row` of the strip at `key`.
  Index at(Value value, const Index &key, const Index &row) const {
    return first + begin(value) + key * Index(cpu.stripRows()) + row;
  }
  /// Returns the place of the word of pair `pair` of keys, for row `row`.
  Index atKeyPair(Value value, const Index &pair, const Index &row) const {
    return begin(value) + pair * Index(cpu.stripRows()) + row;
  }
  /// Returns the place of the word of pair `pair` of rows, at `key`.
  Index atRowPair(Value value, const Index &key, const Index &pair) const {
    return begin(value) + Index(floatsOfSlot() / 2) + key * Index(cpu.stripRows() / 2) + pair;
  }

private:
  int64_t floatsOfSlot() const { return cpu.keyBlock * cpu.stripRows(); }
  Index begin(Value value) const { return schedule.slots.lookup(value) * floatsOfSlot(); }

  const StripSchedule &schedule;
  const CpuSchedule &cpu;
  SmallVector<DotOp> scores;
  int64_t floats = 0; // of the slots of a row
  Index first = 0;
  Value memory, words;
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STRIPMEMORY_H
