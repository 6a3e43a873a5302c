//===- LayOutTables.cpp - the pass pe-lay-out-tables ----------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "passes/ToGPU/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PELAYOUTTABLESPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

/// Rounds to the type of the operands of a product. Tables have no elements of tf32, so tf32 stays
/// an f32 that has been rounded.
static Value round(OpBuilder &builder, Location loc, Value value, Type element) {
  if (element.isF32())
    return value;
  auto rounding = arith::RoundingModeAttr();
  if (element.isTF32())
    rounding =
        arith::RoundingModeAttr::get(builder.getContext(), arith::RoundingMode::to_nearest_away);
  value =
      arith::TruncFOp::create(builder, loc, element, value, rounding, arith::FastMathFlagsAttr());
  return element.isTF32() ? arith::ExtFOp::create(builder, loc, builder.getF32Type(), value)
                          : value;
}

/// Adds a stage that writes the table [.., d, t] as [.., t, d], rounded to the type of the
/// operands, with zeros after the last distance.
static Value layOut(StageOp stage, Value table, Type element, const Twine &name) {
  SmallVector<std::string> extents;
  for (StringAttr extent : cast<BufferType>(table.getType()).getExtents())
    extents.push_back(extent.str());
  const unsigned rank = extents.size();
  std::swap(extents[rank - 2], extents[rank - 1]);
  OpBuilder builder(stage);
  Type f32 = builder.getF32Type();
  Value vectors = tile::gpu::addTemporary(stage, name, extents, element.isTF32() ? f32 : element,
                                          /*zero=*/false);
  Location loc = stage.getLoc();
  tile::gpu::enterStage(builder, stage, name);
  SmallVector<Value> at = tile::gpu::addElementLoop(builder, loc, vectors), from = at;
  std::swap(from[rank - 2], from[rank - 1]);
  Value value = ReadOp::create(builder, loc, f32, table, from, /*inbounds=*/true);
  // A table may have uninitialized entries after the distances of the call, which kernels also
  // copy.
  Value distances = SizeOp::create(builder, loc, builder.getIndexType(), "r + c - 1");
  Value isDistance =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at[rank - 2], distances);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
  value = arith::SelectOp::create(builder, loc, isDistance, value, zero);
  WriteOp::create(builder, loc, round(builder, loc, value, element), vectors, at);
  YieldOp::create(builder, loc);
  return vectors;
}

static void layOutTables(StageOp stage) {
  llvm::DenseMap<std::pair<Value, Type>, Value> known;
  auto replace = [&](OpOperand &table, Type element) {
    if (cast<BufferType>(table.get().getType()).getExtents().back() != "t")
      return;
    Value &vectors = known[{table.get(), element}];
    if (!vectors)
      vectors = layOut(stage, table.get(), element, "_vectors" + Twine(known.size() - 1));
    table.set(vectors);
  };
  stage.walk([&](Operation *op) {
    if (auto dot = dyn_cast<WindowDotOp>(op))
      replace(dot.getTableMutable(), elementOf(dot.getRows()));
    else if (auto sum = dyn_cast<WindowSumOp>(op))
      replace(sum.getTableMutable(), elementOf(sum.getValue()));
  });
}

namespace {

struct PELayOutTablesPass : tile::impl::PELayOutTablesPassBase<PELayOutTablesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StageOp> stages;
    getOperation().walk([&](StageOp stage) { stages.push_back(stage); });
    for (StageOp stage : stages)
      layOutTables(stage);
  }
};

} // namespace
