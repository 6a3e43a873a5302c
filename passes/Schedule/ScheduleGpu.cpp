//===- ScheduleGpu.cpp - block sizes and warps for GPUs -------------------===//
#include "passes/Schedule/Schedule.h"

#define DEBUG_TYPE "pe-schedule-gpu"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PESCHEDULEGPUPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace mlir::tile

namespace {

/// What decides a stage's block sizes.
struct StageTraits {
  bool isWide = false;       // panels of f32
  bool hasSnapshots = false; // a vector per key block: the plan's block size is the stage's
  bool hasSegments = false;  // adjoints of segments: many values per pair
  bool hasWindow = false;    // a function of the distance
  bool hasDiagonals = false; // adjoints of functions of the distance
  bool sumsColumns = false;  // sums over rows, such as gradients of keys

  explicit StageTraits(StageOp stage) {
    stage.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (auto buffer = dyn_cast<BufferType>(operand.getType()))
          for (StringAttr extent : buffer.getExtents())
            hasSnapshots |= extent.getValue() == "kb";
      hasSegments |= isa<SegmentsGradOp>(op);
      hasWindow |= isa<WindowOp>(op);
      hasDiagonals |= isa<SegmentsGradOp, WindowGradOp>(op);
      if (auto load = dyn_cast<LoadOp>(op)) {
        auto type = cast<ValType>(load.getValue().getType());
        isWide |= hasDepth(type.getSpaces()) && type.getElementType().isF32();
      }
      if (auto dot = dyn_cast<DotOp>(op))
        sumsColumns |= dot.getAxis() == Axis::R;
    });
  }
};

} // namespace

GpuSchedule mlir::tile::chooseGpuSchedule(StageOp stage) {
  auto plan = stage->getParentOfType<PlanOp>();
  const StageTraits traits(stage);
  const int64_t depth = std::max(plan.getHeadDim(), plan.getValueDim());
  GpuSchedule schedule;
  schedule.innerBlock = plan.getKeyBlock();
  // Registers and shared memory grow with the depth, the width of elements and what is kept per
  // pair; half the pairs then leave room (scripts/check-ptx shows what is used).
  const bool isDeep = depth > (traits.isWide ? 32 : 64);
  if (!traits.hasSnapshots && (isDeep || traits.hasSegments))
    schedule.innerBlock = 32;
  // Two tiles of owners to a warp halve what is read of shared memory per product, which is what
  // one tile waits for (pe bench --model).
  const bool hasRoom = traits.hasSnapshots ? depth <= 64 && !traits.hasWindow : depth <= 128;
  if (!traits.isWide && !traits.sumsColumns && hasRoom)
    schedule.ownerTiles = 2;
  // Chips of 99 KiB of shared memory hold half the owners of f32.
  const bool needsSquares = traits.hasSnapshots && traits.hasDiagonals;
  if (traits.isWide && depth > (traits.hasSnapshots ? 32 : 64) && !needsSquares)
    schedule.warps = 2;
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
