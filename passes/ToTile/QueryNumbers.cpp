//===- QueryNumbers.cpp - a number per query, from scalar code ------------===//
#include "passes/ToTile/QueryNumbers.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult QueryNumbers::prepare() {
  FailureOr<pe::ScalarVjp> derived =
      pe::ScalarVjp::create(cast<pe::YieldOp>(region.getTerminator()).getValues()[0]);
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  numbers = context.kept(name, {"b", "hq", "r"});
  TileBuilder t = beginStage(context.plan, name + "_numbers", Phase::Prepare, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    TileParameters params = parameters();
    IRMapping mapping = mapRow(s, at);
    Value number = vjp->emitPrimal(s, mapping, params);
    writeElement(s, ifAttending(s, at, number), numbers, at);
  });
  return success();
}

void QueryNumbers::multiply(StringRef stage, Phase phase, StringRef dim, Value from, Value to) {
  TileBuilder t = beginStage(context.plan, stage.str(), phase, {"b", "hq"});
  t.foreach ({"r", dim}, [&](Scalar &s, ValueRange at) {
    Value number = readElement(s, numbers, at.take_front(3));
    Value element = s.mul(number, s.widen(readElement(s, from, at)));
    writeElement(s, s.round(element, elementOf(to)), to, at);
  });
}

void QueryNumbers::finish(StringRef dim, Value rows, Value cotangents) {
  if (captures.empty())
    return;
  Value gradients = context.temporary("d_" + name, {"b", "hq", "r"});
  TileBuilder t = beginStage(context.plan, name + "_products", Phase::Finish, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    Value sum = sumOver(s, {dim}, [&](Scalar &inner, ValueRange d) {
      SmallVector<Value> place = {at[0], at[1], at[2], d[0]};
      return inner.mul(inner.widen(readElement(inner, rows, place)),
                       inner.widen(readElement(inner, cotangents, place)));
    });
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), sum), gradients, at);
  });
  TileBuilder sums = beginStage(context.plan, name + "_sums", Phase::Finish, {});
  sums.foreach ({"b", "hq", "r"}, [&](Scalar &s, ValueRange at) {
    TileParameters params = parameters();
    IRMapping mapping = mapRow(s, at);
    vjp->emitPrimal(s, mapping, params);
    vjp->emitAdjoint(s, mapping, ifAttending(s, at, readElement(s, gradients, at)), params);
  });
}

/// Maps the region's point; `at` is batch, head and row. The code does not read the key.
IRMapping QueryNumbers::mapRow(Scalar &s, ValueRange at) {
  Value position = s.add(at[2], s.size("q_start"));
  IRMapping mapping;
  SmallVector<Value> leading = {at[0], at[1], position, position};
  if (isScore)
    leading.insert(leading.begin(), s.number(1.0));
  for (auto [number, value] : llvm::enumerate(leading))
    mapping.map(region.getArgument(number), value);
  return mapping;
}

Value QueryNumbers::ifAttending(Scalar &s, ValueRange at, Value value) {
  Value position = s.add(at[2], s.size("q_start"));
  Value attends = s.create<arith::CmpIOp>(arith::CmpIPredicate::sge, position, s.index(0));
  return s.select(attends, value, s.number(0.0));
}
