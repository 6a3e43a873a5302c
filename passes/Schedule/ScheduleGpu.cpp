//===- ScheduleGpu.cpp - block sizes and warps for GPUs -------------------===//
#include "passes/Schedule/Schedule.h"

#define DEBUG_TYPE "pe-schedule-gpu"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PESCHEDULEGPUPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace mlir::tile

GpuSchedule mlir::tile::chooseGpuSchedule(StageOp stage) {
  auto plan = stage->getParentOfType<PlanOp>();
  GpuSchedule schedule;
  const int64_t depth = std::max(plan.getHeadDim(), plan.getValueDim());
  bool isWide = false, hasSnapshots = false;
  stage.walk([&](LoadOp load) {
    auto type = cast<ValType>(load.getValue().getType());
    isWide |= hasDepth(type.getSpaces()) && type.getElementType().isF32();
  });
  stage.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto buffer = dyn_cast<BufferType>(operand.getType()))
        for (StringAttr extent : buffer.getExtents())
          hasSnapshots |= extent.getValue() == "kb";
  });
  schedule.innerBlock = plan.getKeyBlock();
  // Shared memory of f32 panels, and registers of deep ones.
  if (!hasSnapshots && (isWide ? depth > 64 : depth > 128))
    schedule.innerBlock = 32;
  return schedule;
}

namespace {

struct PEScheduleGpuPass : tile::impl::PEScheduleGpuPassBase<PEScheduleGpuPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([&](StageOp stage) {
      if (stage->hasAttr(GpuSchedule::kAttribute) || !stage.getStream())
        return;
      NamedAttrList entries(chooseGpuSchedule(stage).toAttr(&getContext()));
      bool isValid = true;
      for (StringRef text : set) {
        auto [name, value] = text.split('=');
        int64_t number;
        isValid &= bool(entries.get(name)) && !value.getAsInteger(10, number);
        if (isValid)
          entries.set(name, IntegerAttr::get(IntegerType::get(&getContext(), 64), number));
      }
      DictionaryAttr attr = entries.getDictionary(&getContext());
      if (!isValid || failed(GpuSchedule::fromAttr(attr))) {
        stage.emitOpError("expected `set` to name numbers of gpu_schedule in their ranges, found ")
            << llvm::join(set, ",");
        return signalPassFailure();
      }
      stage->setAttr(GpuSchedule::kAttribute, attr);
    });
  }
};

} // namespace
