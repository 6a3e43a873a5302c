//===- ScheduleCpu.cpp - block sizes and register tiles for CPUs ----------===//
#include "passes/Schedule/Schedule.h"

#include "dialect/Tile/SizeNames.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "pe-schedule-cpu"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PESCHEDULECPUPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace mlir::tile

bool mlir::tile::hasLongScalarCode(StageOp stage) {
  constexpr int64_t kLong = 1024;
  int64_t count = 0;
  stage.walk([&](StreamOp stream) {
    stream.getBody().walk([&](MapOp map) { map.getBody().walk([&](Operation *) { ++count; }); });
  });
  return count > kLong;
}

bool mlir::tile::isFunctionCall(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
              math::FmaOp, math::CopySignOp, math::SqrtOp>(op);
}

/// Returns true for a stage of the form of forward halves for few rows (passes/ToTile).
static bool hasFewRows(StageOp stage) {
  StreamOp stream = stage.getStream();
  return stream.getOverSplits() || (stage.isOver("hkv") && !sumsOverRows(stream));
}

/// Returns true if the stage has contractions of bf16 whose depths are entire vectors of pairs.
static bool multipliesBf16(StageOp stage) {
  auto plan = stage->getParentOfType<PlanOp>();
  if (plan.getHeadDim() % 8 || plan.getValueDim() % 8)
    return false;
  auto isOfBf16 = [](DotOp dot) {
    return elementOf(dot.getLhs()).isBF16() && elementOf(dot.getRhs()).isBF16();
  };
  return llvm::any_of(stage.getStream().getBody().getOps<DotOp>(), isOfBf16);
}

static bool hasPairDot(const Machine &machine) {
  return ::pe::plan::findMatrixOp(machine, ::pe::plan::Form::PairDot, ::pe::DType::BF16);
}

/// Returns the rows of a register tile with lanes along keys: their queries fill at most half of
/// the registers.
static int64_t rowsOfTile(StageOp stage, const Machine &machine) {
  const int64_t depth = stage->getParentOfType<PlanOp>().getHeadDim();
  const int64_t vectors = llvm::divideCeil(depth, machine.lanes);
  // Four rows would be 8 % faster with one key head, and take twice as long to compile.
  int64_t rows = hasLongScalarCode(stage) ? 1 : 2;
  while (rows > 1 && rows * vectors > machine.registers / 2)
    rows /= 2;
  return rows;
}

CpuSchedule mlir::tile::chooseCpuSchedule(StageOp stage, const Machine &machine) {
  auto plan = stage->getParentOfType<PlanOp>();
  CpuSchedule schedule;
  schedule.ownerWord = static_cast<int64_t>(chooseOwner(stage, machine));
  schedule.lanes = machine.lanes;
  schedule.exp2Word =
      static_cast<int64_t>(machine.hasScaleF ? Exp2Flavour::ScaleF : Exp2Flavour::Bits);
  if (machine.registers >= 32) {
    schedule.keyRows = 8;
    schedule.depthRows = 8;
    schedule.columnVectors = 4;
    schedule.unroll = 1;
  }
  if (hasLongScalarCode(stage))
    schedule.queryVectors = schedule.keyRows = schedule.sweepKeys = 1;
  else if (hasPairDot(machine) && !hasFewRows(stage) && multipliesBf16(stage))
    schedule.byWord = static_cast<int64_t>(ProductBy::PairDot);
  schedule.keyBlock = plan.getKeyBlock().value_or(schedule.keyBlock);
  if (hasFewRows(stage)) {
    // The rows of an item: few enough that their outputs stay in the first-level cache while a
    // block of keys is read once for all of them.
    schedule.alongWord = 1;
    schedule.queryVectors = rowsOfTile(stage, machine);
    schedule.queryBlock = 16;
    return schedule;
  }
  // Rows of a work item: few enough that their packed queries and outputs stay in the second-level
  // cache and that there are items for every thread.
  constexpr int64_t kMostRows = 128;
  const int64_t floats = machine.l2Bytes / 64; // a sixteenth of the cache
  int64_t rows =
      std::min<int64_t>(kMostRows, floats / std::max(plan.getHeadDim(), plan.getValueDim()));
  schedule.queryBlock = std::max<int64_t>(1, rows / schedule.stripRows()) * schedule.stripRows();
  return schedule;
}

bool mlir::tile::sharesCodeOfItems(StageOp stage) {
  constexpr int64_t kMuch = 16; // operations
  Block &body = stage.getBody().front();
  auto loop = dyn_cast<ForeachOp>(body.front());
  if (!loop || !llvm::hasSingleElement(body) || stage.getOver().size() != 1 ||
      loop.getOver().size() != 1)
    return false;
  llvm::DenseSet<Value> ofItem = {loop.getBody().front().getArgument(0)};
  llvm::DenseSet<Value> ofLoop = {loop.getBody().front().getArgument(1)};
  int64_t shared = 0;
  for (Operation &op : loop.getBody().front().without_terminator()) {
    auto isAny = [&](const llvm::DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(), [&](Value value) { return values.contains(value); });
    };
    if (isFunctionCall(&op))
      return false;
    if (isAny(ofItem) || op.getNumRegions() || isa<ReadOp>(op)) { // memory may change between items
      ofItem.insert_range(op.getResults());
    } else if (isAny(ofLoop)) {
      ofLoop.insert_range(op.getResults());
      ++shared;
    }
  }
  return shared >= kMuch;
}

CpuLoops mlir::tile::chooseCpuLoops(StageOp stage, const Machine &machine) {
  constexpr int64_t kRows = 8, kHeads = 4;
  CpuLoops loops;
  loops.lanes = 2 * machine.lanes; // two vectors of f32, four of f64
  // Computing a short row takes less time than reading the sizes of the call, unless it calls
  // functions, so one call computes several rows.
  auto over = stage.getOver().getAsValueRange<StringAttr>();
  const bool calls =
      stage.getBody()
          .walk([](Operation *op) {
            return isFunctionCall(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  if (over.empty() || calls)
    return loops;
  if (sharesCodeOfItems(stage))
    loops.group = kHeads;
  StringRef last;
  for (StringRef extent : over)
    last = extent;
  auto isAxis = [&](ExtentOp extent) { return extent.getName() == last; };
  auto plan = stage->getParentOfType<PlanOp>();
  if (last == "r" || last == "c" || llvm::any_of(plan.getOps<ExtentOp>(), isAxis))
    loops.group = kRows;
  return loops;
}

LogicalResult mlir::tile::checkFits(StageOp stage, const CpuSchedule &schedule) {
  auto plan = stage->getParentOfType<PlanOp>();
  if (schedule.isAlongKeys() != hasFewRows(stage)) // step-C8
    return stage.emitOpError("expected along = ")
           << (schedule.isAlongKeys() ? "rows for a stage of many rows, found along = keys"
                                      : "keys for a stage of few rows, found along = rows")
           << " (step-C8)";
  if (stage.isOver("ks") && plan.getKeySplit().value() % schedule.keyBlock) // step-C8
    return stage.emitOpError("expected key_block to divide key_split of the plan, ")
           << *plan.getKeySplit() << ", found " << schedule.keyBlock << " (step-C8)";
  if (schedule.owner() == Owner::Rows && sumsOverRows(stage.getStream())) // step-C7
    return stage.emitOpError("expected owner = columns on a CPU for a stage with sums over rows, "
                             "found owner = rows (step-C7)");
  for (const int64_t depth : {plan.getHeadDim(), plan.getValueDim()})
    if (depth % schedule.depthRows) // step-C7
      return stage.emitOpError("expected depth_rows to divide the head and value dims, ")
             << depth << ", found " << schedule.depthRows << " (step-C7)";
  return success();
}

/// Emits an error at the stage if the machine does not have its vectors.
static LogicalResult checkMachine(StageOp stage, const CpuSchedule &schedule,
                                  const Machine &machine) {
  if (schedule.lanes != machine.lanes) // step-C7
    return stage.emitOpError("expected lanes = ") << machine.lanes << " on " << machine.name
                                                  << ", found " << schedule.lanes << " (step-C7)";
  if (schedule.exp2() == Exp2Flavour::ScaleF && !machine.hasScaleF) // step-C7
    return stage.emitOpError("expected exp2 = bits on ")
           << machine.name << ", found exp2 = scalef (step-C7)";
  if (schedule.isByPairs() && !hasPairDot(machine)) // step-C7
    return stage.emitOpError("expected by = fma on ")
           << machine.name << ", found by = pairdot (step-C7)";
  if (schedule.isByPairs() && !multipliesBf16(stage)) // step-C7
    return stage.emitOpError("expected by = fma for a stage without contractions of bf16 of a "
                             "multiple of 8 dims, found by = pairdot (step-C7)");
  return success();
}

namespace {

struct PEScheduleCpuPass : tile::impl::PEScheduleCpuPassBase<PEScheduleCpuPass> {
  using Base::Base;
  void runOnOperation() override {
    const Machine *cpu = findMachine(getOperation(), machine, /*isGpu=*/false);
    if (!cpu)
      return signalPassFailure();
    auto overrides = Overrides<CpuSchedule>::parse(&getContext(), ArrayRef<std::string>(set));
    if (failed(overrides))
      return signalPassFailure();
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(schedule(plan, *cpu, *overrides)))
        return signalPassFailure();
    if (failed(overrides->checkUse(&getContext())))
      return signalPassFailure();
  }

private:
  LogicalResult schedule(PlanOp plan, const Machine &cpu, Overrides<CpuSchedule> &overrides) {
    // Loads of a strip from a table of distances may go beyond the last row.
    auto padding = static_cast<int64_t>(plan.getDistancePadding());
    for (StageOp stage : plan.getOps<StageOp>()) {
      if (!stage.getStream()) {
        if (!stage.getScheduleAttr())
          stage.setScheduleAttr(step::LoopsAttr::get(&getContext(), chooseCpuLoops(stage, cpu)));
        continue;
      }
      FailureOr<bool> isNew =
          giveSchedule<step::CpuAttr>(stage, chooseCpuSchedule(stage, cpu), overrides);
      if (failed(isNew))
        return failure();
      if (!*isNew)
        continue;
      const CpuSchedule &given = *step::scheduleOf<step::CpuAttr>(stage);
      if (stage.isOver("ks")) // a split consists of entire blocks
        plan.setKeySplit(llvm::alignTo(plan.getKeySplit().value(), given.keyBlock));
      if (failed(checkFits(stage, given)) || failed(checkMachine(stage, given, cpu)))
        return failure();
      LDBG() << stage.getSymName() << ": " << stage.getScheduleAttr()
             << (hasLongScalarCode(stage) ? ", one row at a time because of long scalar code" : "")
             << (set.empty() ? "" : ", with fields of `set`");
      padding = std::max({padding, given.stripRows(), given.lanes});
    }
    if (mentions(plan, "t"))
      plan.setDistancePadding(padding);
    return writeKeyBlock(plan, CpuSchedule().keyBlock);
  }
};

} // namespace
