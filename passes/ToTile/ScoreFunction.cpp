//===- ScoreFunction.cpp - lowering of pe.score_fn ------------------------===//
#include "passes/ToTile/ScoreFunction.h"

#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::tile;

ScoreFunction::ScoreFunction(PlanContext &context, pe::ScoreFnOp op, const std::string &name)
    : context(context), op(op), region(op.getBody().front()),
      reads(context, region, /*first=*/1, op.getCaptures(), name),
      sums(context, reads.others(), name, &reads, op) {}

LogicalResult ScoreFunction::prepare() {
  Value root = cast<pe::YieldOp>(region.getTerminator()).getValues()[0];
  FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(root, {region.getArgument(0)});
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  SmallVector<Value> inputs = {region.getArgument(0)};
  llvm::append_range(inputs, reads.values());
  captureVjp.emplace(*pe::ScalarVjp::create(root, inputs));
  return success();
}

void ScoreFunction::mapPoint(IRMapping &mapping, Value in, ValueRange at) {
  mapping.map(region.getArgument(0), in);
  mapping.map(region.getArguments().slice(1, 4), at);
}

Score ScoreFunction::emit(TileBuilder &t, Value product, Value start, bool withSlope) {
  SmallVector<Value> inputs = t.pairPoint();
  inputs.push_back(product);
  if (start)
    inputs.push_back(start);
  SmallVector<Value> results =
      t.mapMany(inputs, {"r", "c"}, withSlope ? 2 : 1, [&](Scalar &s, ValueRange in) {
        TileParameters params = parameters();
        params.addsNothing = true;
        IRMapping mapping;
        mapPoint(mapping, in[4], in.take_front(4));
        Value value = s.mul(vjp->emitPrimal(s, mapping, params), s.number(kLog2E));
        SmallVector<Value> values = {start ? s.add(value, in[5]) : value};
        if (withSlope)
          llvm::append_range(values, vjp->emitAdjoint(s, mapping, s.number(1.0), params));
        return values;
      });
  return {results[0], product, withSlope ? results[1] : Value()};
}

Value ScoreFunction::emitGradient(TileBuilder &t, const Score &score, Value cotangent) {
  if (!op.getCaptures().empty()) {
    sums.create();
    reads.create();
    SmallVector<Value> inputs = t.pairPoint();
    llvm::append_range(inputs, ValueRange{score.product, cotangent, t.index("r"), t.index("c")});
    t.eachPair(inputs, [&](Scalar &s, ValueRange in) {
      TileParameters params = parameters();
      sums.use(params, in, in[6], in[7]);
      IRMapping mapping;
      mapPoint(mapping, in[4], in.take_front(4));
      for (Value value : reads.values()) // first, so that it counts as an input
        pe::emitScalar(value, mapping, s, params);
      captureVjp->emitPrimal(s, mapping, params);
      SmallVector<Value> adjoints = captureVjp->emitAdjoint(s, mapping, in[5], params);
      reads.accumulate(s, in[0], in[1], in[6], in[7], ArrayRef(adjoints).drop_front());
    });
  }
  return t.map({cotangent, score.slope}, {"r", "c"}, [&](Scalar &s, ValueRange in) -> Value {
    Value product = s.mul(in[0], in[1]);
    if (!mayBeSteep(region))
      return product;
    Value zero = s.number(0.0);
    Value isZero = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, in[0], zero);
    return s.select(isZero, zero, product);
  });
}

void ScoreFunction::finish() {
  if (op.getCaptures().empty())
    return;
  sums.finish();
  reads.finish();
}
