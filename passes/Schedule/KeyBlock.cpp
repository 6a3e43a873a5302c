//===- KeyBlock.cpp - one block of keys for all stages with snapshots -----===//
#include "passes/Schedule/Schedule.h"

#include "dialect/Tile/SizeNames.h"

using namespace mlir;
using namespace mlir::tile;

bool mlir::tile::hasSnapshots(StageOp stage) {
  auto isOfKeyBlocks = [](Type type) {
    auto buffer = dyn_cast<BufferType>(type);
    return buffer && buffer.has("kb");
  };
  WalkResult found = stage.walk([&](Operation *op) {
    return llvm::any_of(op->getOperandTypes(), isOfKeyBlocks) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
  });
  return found.wasInterrupted();
}

LogicalResult mlir::tile::writeKeyBlock(PlanOp plan, int64_t otherwise) {
  if (!hasKeyBlocks(plan))
    return success();
  std::optional<int64_t> keys = plan.getKeyBlock();
  for (StageOp stage : plan.getOps<StageOp>()) {
    if (!stage.getStream() || !hasSnapshots(stage))
      continue;
    ScheduleAttrInterface schedule = stage.getScheduleAttr();
    const std::optional<int64_t> own = schedule ? schedule.getKeyBlock() : std::nullopt;
    if (!own)
      continue;
    if (keys && *keys != *own)
      return stage.emitOpError("expected key blocks of ")
             << *keys << ", the size for the plan's other snapshots, found " << *own;
    keys = *own;
  }
  plan.setKeyBlock(keys.value_or(otherwise));
  return success();
}
