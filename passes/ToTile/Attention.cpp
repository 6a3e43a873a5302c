//===- Attention.cpp - what the attention algorithms share ---===//
#include "passes/ToTile/Attention.h"

using namespace mlir;
using namespace mlir::tile;

TileBuilder mlir::tile::beginStage(TileBuilder &plan, StringRef name, Phase phase,
                                   ArrayRef<StringRef> over, Value pairs) {
  StageOp stage =
      plan.create<StageOp>(plan.getStringAttr(name), phase, plan.getStrArrayAttr(over), pairs);
  Block &block = stage.getBody().emplaceBlock();
  return TileBuilder(plan.getLoc(), OpBuilder::atBlockEnd(&block));
}

Value mlir::tile::loadOperand(TileBuilder &t, const Attention &attention, Value buffer,
                              const SpaceSet &spaces) {
  return t.rounded(t.load(buffer, spaces), attention.operands);
}

ScoreEmitter::ScoreEmitter(TileBuilder &t, const Attention &attention, Value rawQ)
    : attention(attention), q(rawQ) {
  if (!scalesLater())
    q = t.scaled(rawQ, factor());
}

Value ScoreEmitter::emit(TileBuilder &t, Value k, Value start) const {
  if (!scalesLater())
    return t.dot(q, k, "d", start);
  Value products = t.dot(q, k, "d");
  if (!start)
    return t.scaled(products, factor());
  return t.map({products, start}, {"r", "c"}, [&](Scalar &s, ValueRange in) {
    return s.add(s.mul(in[0], s.number(factor())), in[1]);
  });
}

void mlir::tile::storeGradients(TileBuilder &t, const Attention &attention, Value dq, Value dk,
                                Value dv) {
  if (attention.dQ)
    t.store(t.scaled(dq, attention.scale), attention.dQ);
  if (attention.dK)
    t.store(t.scaled(dk, attention.scale), attention.dK);
  if (attention.dV)
    t.store(dv, attention.dV);
}
