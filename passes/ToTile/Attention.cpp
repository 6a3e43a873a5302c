//===- Attention.cpp - helpers shared by the attention algorithms ---------===//
#include "passes/ToTile/Attention.h"

using namespace mlir;
using namespace mlir::tile;

TileBuilder mlir::tile::beginStage(TileBuilder &plan, StringRef name, Phase phase,
                                   ArrayRef<StringRef> over, Value pairs, StringRef when) {
  StageOp stage =
      plan.create<StageOp>(plan.getStringAttr(name), phase, plan.getStrArrayAttr(over),
                           when.empty() ? StringAttr() : plan.getStringAttr(when), pairs,
                           /*schedule=*/ScheduleAttrInterface());
  Block &block = stage.getBody().emplaceBlock();
  return plan.at(OpBuilder::atBlockEnd(&block));
}

Value mlir::tile::loadOperand(TileBuilder &t, const Attention &attention, Value buffer,
                              const SpaceSet &spaces) {
  return t.rounded(t.load(buffer, spaces), attention.operands);
}

Value mlir::tile::pairProduct(TileBuilder &t, Value a, Value b) {
  if (!b)
    return a;
  return t.map({a, b}, {"r", "c"}, [](Scalar &s, ValueRange in) { return s.mul(in[0], in[1]); });
}

ScoreEmitter::ScoreEmitter(TileBuilder &t, const Attention &attention, Value rawQ)
    : attention(attention), q(rawQ) {
  if (!scalesLater())
    q = t.scaled(rawQ, factor());
}

Score ScoreEmitter::emitScore(TileBuilder &t, Value k, Value start, bool withSlope) const {
  if (attention.transform) {
    Value product = t.dot(q, k, "d");
    if (scalesLater())
      product = t.scaled(product, factor());
    return attention.transform->emit(t, product, start, withSlope);
  }
  if (!scalesLater())
    return {t.dot(q, k, "d", start), {}, {}};
  Value products = t.dot(q, k, "d");
  if (!start)
    return {t.scaled(products, factor()), {}, {}};
  Value sum = t.map({products, start}, {"r", "c"}, [&](Scalar &s, ValueRange in) {
    return s.add(s.mul(in[0], s.number(factor())), in[1]);
  });
  return {sum, {}, {}};
}

Value mlir::tile::masked(TileBuilder &t, const Attention &a, Value input, double fill) {
  return t.mask(input, fill, a.predicate ? a.predicate->emit(t) : Value());
}

Value mlir::tile::backThrough(TileBuilder &t, const Attention &attention, const Score &score,
                              Value cotangent) {
  return attention.transform ? attention.transform->emitGradient(t, score, cotangent) : cotangent;
}

Value mlir::tile::emitRowConstant(TileBuilder &t, const Attention &a, Value dO) {
  Value o = t.load(a.oWide ? a.oWide : a.o, {"r", "e"});
  if (a.oRest)
    o = t.map({o, t.load(a.oRest, {"r", "e"})}, {"r", "e"},
              [](Scalar &s, ValueRange in) { return s.add(in[0], in[1]); });
  Value product =
      t.map({o, dO}, {"r", "e"}, [](Scalar &s, ValueRange in) { return s.mul(in[0], in[1]); });
  Value delta = t.reduce(Reduction::Add, "e", product);
  if (!a.dStatistic)
    return t.map({delta}, {"r"}, [](Scalar &s, ValueRange in) { return s.neg(in[0]); });
  return t.map({t.load(a.dStatistic, {"r"}), delta}, {"r"},
               [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); });
}

Value mlir::tile::emitSubtrahend(TileBuilder &t, const Attention &a) {
  return t.map({t.load(a.residual, {"r"})}, {"r"}, [](Scalar &s, ValueRange in) {
    Value isEmpty = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, in[0], s.number(-INFINITY));
    return s.select(isEmpty, s.number(INFINITY), s.mul(in[0], s.number(kLog2E)));
  });
}

Value mlir::tile::emitOdds(Scalar &s, Value z, double most) {
  return s.exp2Below127(s.minimum(z, s.number(most)));
}

SmallVector<Type> mlir::tile::backwardFolds(TileBuilder &t, const Attention &attention) {
  SmallVector<Type> folds = {t.type({"r", "d"}), t.type({"c", "d"}), t.type({"c", "e"})};
  for (const SpaceSet &spaces : attention.terms->gradientFolds())
    folds.push_back(t.type(spaces));
  if (attention.content)
    for (const SpaceSet &spaces : attention.content->gradientFolds())
      folds.push_back(t.type(spaces));
  return folds;
}

void mlir::tile::storeGradients(TileBuilder &t, const Attention &attention, ValueRange folds) {
  if (attention.rows.dQ)
    t.store(t.scaled(folds[0], attention.scale), attention.rows.dQ);
  if (attention.rows.dK)
    t.store(t.scaled(folds[1], attention.scale), attention.rows.dK);
  if (attention.rows.dV)
    t.store(folds[2], attention.rows.dV);
  folds = folds.drop_front(3);
  const size_t ofTerms = attention.terms->gradientFolds().size();
  attention.terms->storeFolds(t, folds.take_front(ofTerms));
  if (attention.content)
    attention.content->storeFolds(t, folds.drop_front(ofTerms));
}
