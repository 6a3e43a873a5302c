//===- HoistRowValues.cpp - the pass pe-hoist-row-values ------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "dialect/Tile/Owner.h"
#include "passes/ToGPU/KernelFunction.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "pe-hoist-row-values"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PEHOISTROWVALUESPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

/// Returns values over r that are computed before the stream, by a reduction or for the inner side.
static SmallVector<Value> findHoisted(StageOp stage) {
  StreamOp stream = stage.getStream();
  const bool rows = getOwner(stage) == Owner::Rows;
  SmallVector<Value> hoisted;
  for (Operation &op : stage.getBody().front()) {
    if (&op == stream)
      break;
    if (op.getNumResults() != 1 || isa<LoadOp, ConstantOp, PositionOp, IndexOp>(op) ||
        !isRow(spacesOf(op.getResult(0))))
      continue;
    llvm::SetVector<Operation *> slice;
    slice.insert(&op);
    bool reduces = false;
    for (size_t i = 0; i < slice.size(); ++i) {
      reduces |= isa<ReduceOp>(slice[i]);
      for (Value operand : slice[i]->getOperands())
        if (isa<ValType>(operand.getType()))
          slice.insert(operand.getDefiningOp());
    }
    const bool isUsed = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return user->getParentOp() != stage || user == stream || stream->isBeforeInBlock(user);
    });
    if (isUsed && (reduces || !rows))
      hoisted.push_back(op.getResult(0));
  }
  return hoisted;
}

/// Returns the stores after the stream of values that have no other use. They move with their
/// values, which are removed from `hoisted`.
static SmallVector<StoreOp> takeStores(StageOp stage, SmallVector<Value> &hoisted) {
  SmallVector<StoreOp> stores;
  for (auto store : stage.getBody().front().getOps<StoreOp>())
    if (llvm::is_contained(hoisted, store.getValue()) && store.getValue().hasOneUse())
      stores.push_back(store);
  llvm::erase_if(hoisted, [&](Value value) {
    return llvm::any_of(stores, [&](StoreOp store) { return store.getValue() == value; });
  });
  return stores;
}

static void hoistRowValues(StageOp stage) {
  StreamOp stream = stage.getStream();
  SmallVector<Value> hoisted = findHoisted(stage);
  if (hoisted.empty())
    return;
  SmallVector<StoreOp> stores = takeStores(stage, hoisted);
  OpBuilder builder(stage);
  std::string name = (stage.getSymName() + "_rows").str();
  SmallVector<std::pair<Value, Value>> stored;
  for (auto [index, value] : llvm::enumerate(hoisted)) {
    Type element = cast<ValType>(value.getType()).getElementType();
    Value buffer = tile::gpu::addTemporary(stage, "_rows" + Twine(index), {"b", "hq", "r"}, element,
                                           /*zero=*/false);
    stored.emplace_back(value, buffer);
  }
  auto rowsStage = StageOp::create(builder, stage.getLoc(), name, stage.getPhase(),
                                   builder.getStrArrayAttr({"b", "hq"}), stage.getWhenAttr(),
                                   /*pairs=*/Value(),
                                   /*schedule=*/ScheduleAttrInterface());
  Block &body = rowsStage.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  IRMapping mapping;
  for (Operation &op : stage.getBody().front()) {
    if (&op == stream)
      break;
    builder.clone(op, mapping);
  }
  for (auto [value, buffer] : stored)
    StoreOp::create(builder, stage.getLoc(), mapping.lookup(value), buffer);
  for (StoreOp store : stores) {
    builder.clone(*store, mapping);
    store.erase();
  }
  for (auto [value, buffer] : stored) {
    builder.setInsertionPointAfterValue(value);
    Value load = LoadOp::create(builder, value.getLoc(), value.getType(), buffer);
    value.replaceAllUsesWith(load);
  }
  for (Block *block : {&body, &stage.getBody().front()})
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isa<LoadOp, MapOp, ReduceOp, ConstantOp, PositionOp, IndexOp>(op) &&
          isOpTriviallyDead(&op))
        op.erase();
}

namespace {

struct PEHoistRowValuesPass : tile::impl::PEHoistRowValuesPassBase<PEHoistRowValuesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StageOp> stages;
    getOperation().walk([&](StageOp stage) { stages.push_back(stage); });
    for (StageOp stage : stages)
      if (stage.getStream())
        hoistRowValues(stage);
  }
};

} // namespace
