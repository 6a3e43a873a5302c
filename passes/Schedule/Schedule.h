//===- Schedule.h - schedules of stages, written as attributes ------------===//
//
// Schedules choose the strategy and lowerings apply it, so each can be tested separately.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_SCHEDULE_H
#define PE_PASSES_SCHEDULE_SCHEDULE_H

#include "dialect/Step/StepAttributes.h"
#include "dialect/Tile/Owner.h"
#include "runtime/plan/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

using ::pe::plan::Machine;

/// Returns the CPU or GPU with this name. Emits an error at `op` and returns null if there is none.
const Machine *findMachine(Operation *op, StringRef name, bool isGpu);

/// Chooses whether rows or columns own the loops of a stage with a stream on `machine`.
Owner chooseOwner(StageOp stage, const Machine &machine);

/// Returns true if the scalar code for one pair has more than a thousand operations. That code is
/// repeated for every key and vector of a tile, or every pair of a thread: large tiles would save
/// little time and take LLVM minutes to compile.
bool hasLongScalarCode(StageOp stage);

/// Returns true if the operation is a function call, not an instruction, on a CPU.
bool isFunctionCall(Operation *op);

/// Chooses the schedule of a stage with a stream.
CpuSchedule chooseCpuSchedule(StageOp stage, const Machine &machine);

/// Chooses the schedule of a stage without a stream.
CpuLoops chooseCpuLoops(StageOp stage, const Machine &machine);

/// Returns the number of keys between snapshots, which is the inner block of every stage with
/// snapshots: as many as a panel of 8 KiB holds.
int64_t chooseGpuKeyBlock(PlanOp plan);
/// Chooses the GPU schedule of a stage with a stream.
GpuSchedule chooseGpuSchedule(StageOp stage, const Machine &machine);

/// Returns true if the stage reads or writes a buffer with one entry per block of keys (extent
/// `kb`).
bool hasSnapshots(StageOp stage);

/// Sets the `key_block` of a plan that has buffers per block of keys. It is the block of the stages
/// with snapshots, or `otherwise` if no stage has snapshots. Emits an error and fails if the blocks
/// of stages differ from each other or from an existing `key_block`.
LogicalResult writeKeyBlock(PlanOp plan, int64_t otherwise);

/// Gives a stage the schedule `chosen` with fields from texts NAME=VALUE or PHASE.NAME=VALUE, for
/// stages of that phase only, unless it has a schedule. Returns whether it did. Emits an error at
/// `stage` and fails if a text is not a field and a value, the fields do not fit each other, or the
/// stage has the schedule of another machine.
template <typename Attr, typename Schedule>
FailureOr<bool> giveSchedule(StageOp stage, Schedule chosen, ArrayRef<std::string> texts) {
  if (ScheduleAttrInterface attr = stage.getScheduleAttr()) {
    if (isa<Attr>(attr))
      return false;
    return stage.emitOpError("expected no schedule, or one of this machine, found ") << attr;
  }
  for (StringRef text : texts) {
    auto [name, value] = text.split('=');
    if (const auto [phase, field] = name.split('.'); symbolizePhase(phase)) {
      if (symbolizePhase(phase) != stage.getPhase())
        continue;
      name = field;
    }
    if (!step::setField(chosen, name, value))
      // step-C1
      return stage.emitOpError("expected NAME=VALUE or PHASE.NAME=VALUE with a field of ")
             << step::fieldNames<Schedule>() << ", found " << text << " (step-C1)";
  }
  auto attr = Attr::getChecked([&] { return stage.emitOpError(); }, stage.getContext(), chosen);
  if (!attr)
    return failure();
  stage.setScheduleAttr(attr);
  return true;
}

#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_SCHEDULE_H
