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

/// Returns true if a stage is one loop over entries for each item, such as a head, with much code
/// that is the same for all items: buckets of distances.
bool sharesCodeOfItems(StageOp stage);

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

/// The fields of schedules that texts NAME=VALUE or PHASE.NAME=VALUE replace, PHASE forward or
/// backward.
template <typename Schedule> class Overrides {
public:
  /// Parses the texts. Emits an error without a location and fails if one has no such form, names
  /// no field, repeats a field, or has a value outside the field's range.
  static FailureOr<Overrides> parse(MLIRContext *context, ArrayRef<std::string> texts);

  /// Sets the fields for a stage.
  void apply(StageOp stage, Schedule &schedule);
  /// Emits an error and fails if a field was applied to no stage.
  LogicalResult checkUse(MLIRContext *context) const;

private:
  struct Override {
    std::optional<Phase> phase;
    std::string text;
    const step::Field<Schedule> *field;
    std::string value;
    bool isUsed = false;
  };
  static InFlightDiagnostic error(MLIRContext *context) {
    return emitError(UnknownLoc::get(context)) << "schedule: ";
  }
  SmallVector<Override> all;
};

template <typename Schedule>
FailureOr<Overrides<Schedule>> Overrides<Schedule>::parse(MLIRContext *context,
                                                          ArrayRef<std::string> texts) {
  Overrides overrides;
  for (const std::string &text : texts) {
    auto [name, value] = StringRef(text).trim().split('=');
    std::optional<Phase> phase;
    if (auto [first, rest] = name.split('.'); !rest.empty()) {
      phase = symbolizePhase(first);
      if (phase != Phase::Forward && phase != Phase::Backward) // step-C1
        return error(context) << "expected forward or backward before the dot, found " << first
                              << " (step-C1)";
      name = rest;
    }
    const step::Field<Schedule> *field = step::findField<Schedule>(name);
    if (!field) // step-C1
      return error(context) << "expected a field of " << step::fieldNames<Schedule>() << ", found "
                            << name << " (step-C1)";
    Schedule tried;
    if (!step::setField(tried, *field, value) || !step::isInRange(tried, *field)) // step-C2
      return error(context) << "expected " << name << " " << step::valuesOf(*field) << ", found "
                            << value << " (step-C2)";
    for (const Override &other : overrides.all)
      if (other.field == field && (other.phase == phase || !other.phase || !phase)) // step-C1
        return error(context) << "expected each field once, found " << other.text << " and " << text
                              << " (step-C1)";
    overrides.all.push_back({phase, text, field, value.str()});
  }
  return overrides;
}

template <typename Schedule> void Overrides<Schedule>::apply(StageOp stage, Schedule &schedule) {
  for (Override &one : all)
    if (!one.phase || one.phase == stage.getPhase()) {
      step::setField(schedule, *one.field, one.value);
      one.isUsed = true;
    }
}

template <typename Schedule>
LogicalResult Overrides<Schedule>::checkUse(MLIRContext *context) const {
  for (const Override &one : all)
    if (!one.isUsed) // step-C1
      return error(context) << "expected a stage that takes " << one.text
                            << ", found none; a backward stage needs gradients (step-C1)";
  return success();
}

/// Gives a stage the schedule `chosen` with overridden fields, unless it has a schedule. Returns
/// whether it did. Emits an error at `stage` and fails if the fields do not fit each other, or the
/// stage has the schedule of another machine.
template <typename Attr, typename Schedule>
FailureOr<bool> giveSchedule(StageOp stage, Schedule chosen, Overrides<Schedule> &overrides) {
  if (ScheduleAttrInterface attr = stage.getScheduleAttr()) {
    if (isa<Attr>(attr))
      return false;
    return stage.emitOpError("expected no schedule, or one of this machine, found ") << attr;
  }
  overrides.apply(stage, chosen);
  auto attr = Attr::getChecked([&] { return stage.emitOpError(); }, stage.getContext(), chosen);
  if (!attr)
    return failure();
  stage.setScheduleAttr(attr);
  return true;
}

/// Returns true if a stream adds values of many rows: a fold over columns, or a sum in place.
bool sumsOverRows(StreamOp stream);

/// Emits an error at the stage if its schedule does not fit it: rows cannot own sums over keys, and
/// tiles divide the depths.
LogicalResult checkFits(StageOp stage, const CpuSchedule &schedule);
/// Emits an error at the stage if it sums panels of the inner side that its warps cannot divide.
LogicalResult checkFits(StageOp stage, const GpuSchedule &schedule);

#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_SCHEDULE_H
