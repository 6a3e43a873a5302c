//===- Sink.cpp - logits that join the denominator ------------------------===//
#include "passes/ToTile/Sink.h"

using namespace mlir;
using namespace mlir::tile;

Sink::Sink(PlanContext &context, Parameter &parameter, const std::string &name)
    : context(context), parameter(parameter), name(name) {
  if (context.grad)
    rows = context.temporary(name + "_rows", {"b", "hq", "r"});
}

std::pair<Value, Value> Sink::emit(TileBuilder &t, double unit) {
  Value logit = t.load(parameter.buffer, {});
  SmallVector<Value> start = t.mapMany({logit}, {"r"}, 2, [&](Scalar &s, ValueRange in) {
    // A logit of minus infinity leaves no trace, and NaN stays in the sum.
    Value scaled = s.mul(in[0], s.number(kLog2E / unit));
    Value largest = s.max(scaled, s.number(kLeastMaximum));
    Value difference = s.mul(s.sub(scaled, largest), s.number(unit));
    return SmallVector<Value>{largest, s.exp2Below127(difference)};
  });
  return {start[0], start[1]};
}

Value Sink::emitGradient(TileBuilder &t, Value subtrahend, Value rowConstant) {
  Value logit = t.load(parameter.buffer, {});
  return t.map({logit, subtrahend, rowConstant}, {"r"}, [](Scalar &s, ValueRange in) {
    Value weight = s.exp2Below127(s.sub(s.mul(in[0], s.number(kLog2E)), in[1]));
    return s.mul(weight, in[2]);
  });
}

void Sink::finish() {
  TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  t.foreach ({"b", "hq", "r"}, [&](Scalar &s, ValueRange at) {
    Value wide = s.create<arith::ExtFOp>(s.getF64Type(), readElement(s, rows, at));
    accumulateElement(s, wide, parameter.gradientSums, at[1]);
  });
}
