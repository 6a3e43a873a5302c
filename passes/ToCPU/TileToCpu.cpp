//===- TileToCpu.cpp - the pass pe-tile-to-cpu ----------------------------===//
#include "passes/ToCPU/ToCPU.h"

#include "dialect/Tile/SizeNames.h"
#include "passes/Schedule/Layouts.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/MathFunctions.h"
#include "passes/ToCPU/Skeletons.h"
#include "passes/ToCPU/VectorLoops.h"
#include "passes/ToLoops/NarrowFloats.h"
#include "passes/ToLoops/ScalarStage.h"
#include "passes/ToLoops/ToLoops.h"

#define DEBUG_TYPE "pe-tile-to-cpu"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PETILETOCPUPASS
#include "passes/ToCPU/Passes.h.inc"
} // namespace mlir::tile

namespace {

/// Lowers a stage with a stream; fails with the reason if it has no fused form.
LogicalResult lowerStream(StageOp stage, std::string &why) {
  auto streams = stage.getBody().front().getOps<StreamOp>();
  const CpuSchedule *cpu = step::scheduleOf<step::CpuAttr>(stage);
  if (streams.empty() || !cpu) {
    why = "it has no stream with a schedule #step.cpu";
    return failure();
  }
  if (failed(checkLayouts(stage, why)))
    return failure();
  if (failed(cpu::checkStage(stage, why)))
    return failure();
  if (stage.getStream().getOverSplits()) {
    cpu::lowerMerge(stage, *cpu);
    return success();
  }
  FailureOr<StripSchedule> schedule = StripSchedule::compute(*streams.begin(), why);
  if (failed(schedule))
    return failure();
  if (cpu->isAlongKeys()) {
    if (failed(cpu::checkFewRows(stage, why)))
      return failure();
    cpu::lowerFewRows(stage, *cpu, *schedule);
    return success();
  }
  if (cpu->owner() == Owner::Columns)
    cpu::lowerColumnsOuter(stage, *cpu, *schedule);
  else
    cpu::lowerRowsOuter(stage, *cpu, *schedule);
  return success();
}

/// Lowers loops, vectorized if there is a schedule and the body has a vector form.
LogicalResult lowerLoops(StageOp stage) {
  const CpuLoops *loops = step::scheduleOf<step::LoopsAttr>(stage);
  if (!loops)
    return lowerScalarStage(stage);
  ScalarStageOptions options;
  options.group = loops->group;
  auto emit = [&](OpBuilder &builder, ForeachOp loop, ArrayRef<Value> item,
                  const StageFunction &function) {
    return cpu::emitVectorLoop(builder, loop, item, function, loops->lanes);
  };
  options.emitLoop = emit;
  auto emitOfItems = [&](OpBuilder &builder, ForeachOp loop, Value first, Value end,
                         const StageFunction &function) {
    return cpu::emitVectorLoopOfItems(builder, loop, first, end, function, loops->lanes);
  };
  if (sharesCodeOfItems(stage))
    options.emitLoopOfItems = emitOfItems;
  return lowerScalarStage(stage, options);
}

/// Checks that all values are f32 or bf16: neither vector code nor the fallback supports other
/// types on a CPU.
LogicalResult checkTypes(StageOp stage) {
  WalkResult result = stage.walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (auto value = dyn_cast<ValType>(type); value && !value.getElementType().isF32() &&
                                                !value.getElementType().isBF16() &&
                                                !value.getElementType().isIndex())
        return op->emitOpError("expected values of f32 or bf16, found ")
               << type << "; loads extend narrower elements";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct PETileToCpuPass : tile::impl::PETileToCpuPassBase<PETileToCpuPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StageOp> stages;
    for (PlanOp plan : getOperation().getOps<PlanOp>()) {
      if (failed(checkKeyBlock(plan)))
        return signalPassFailure();
      llvm::append_range(stages, plan.getOps<StageOp>());
    }
    // A machine that multiplies bf16 also converts it.
    const bool hasBf16 = llvm::any_of(stages, [](StageOp stage) {
      const CpuSchedule *cpu = step::scheduleOf<step::CpuAttr>(stage);
      return cpu && cpu->isByPairs();
    });
    for (StageOp stage : stages)
      if (failed(lower(stage)))
        return signalPassFailure();
    if (failed(cpu::lowerVectorMath(getOperation())) ||
        failed(lowerNarrowFloats(getOperation(), hasBf16)))
      signalPassFailure();
  }

private:
  LogicalResult lower(StageOp stage) {
    if (isScalarStage(stage))
      return lowerLoops(stage);
    if (failed(checkTypes(stage)))
      return failure();
    if (const CpuSchedule *cpu = step::scheduleOf<step::CpuAttr>(stage);
        cpu && stage.getStream() && failed(checkFits(stage, *cpu)))
      return failure();
    std::string why;
    if (succeeded(lowerStream(stage, why)))
      return success();
    stage.emitRemark("stage @") << stage.getSymName() << " runs as plain loops: " << why;
    LoopOptions options;
    options.blockColumns =
        stage->getParentOfType<PlanOp>().getKeyBlock().value_or(CpuSchedule().keyBlock);
    return lowerStageToLoops(stage, options);
  }
};

} // namespace
