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

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STRIPMEMORY_H
