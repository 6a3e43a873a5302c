//===- Sink.cpp - logits that join the denominator ------------------------===//
#include "passes/ToTile/Sink.h"

#include "passes/ToTile/Terms.h"

using namespace mlir;
using namespace mlir::tile;

Sink::Sink(PlanContext &context, pe::SinkFnOp op, const std::string &name)
    : context(context), op(op), name(name) {}

Parameter *Sink::ofHeads() {
  Value tensor = op.getLogits();
  if (!tensor || context.parameters[tensor].absent)
    return nullptr;
  return &context.parameters[tensor];
}

LogicalResult Sink::prepare() {
  Block &region = op.getBody().front();
  FailureOr<pe::ScalarVjp> derived =
      pe::ScalarVjp::create(cast<pe::YieldOp>(region.getTerminator()).getValues()[0]);
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  if (context.grad && !op.getCaptures().empty())
    rows = context.temporary(name + "_rows", {"b", "hq", "r"});
  if (Parameter *parameter = ofHeads()) {
    logits = parameter->buffer;
    return success();
  }
  perBatch = !region.getArgument(0).use_empty();
  perRow = !region.getArgument(2).use_empty();
  emitLogits();
  return success();
}

/// Emits the logit in float64; `at` are the indices of an element of `logits`.
Value Sink::emitPrimal(Scalar &s, IRMapping &mapping, ValueRange at) {
  Block &region = op.getBody().front();
  Value zero = s.index(0), batch = perBatch ? at.front() : zero, head = at[perBatch];
  Value position = perRow ? s.add(at.back(), s.size("q_start")) : zero;
  mapping.map(region.getArguments().take_front(3), ValueRange{batch, head, position});
  TileParameters params(context, region, op.getCaptures());
  params.compute = s.getF64Type();
  return vjp->emitPrimal(s, mapping, params, s.getF64Type());
}

void Sink::emitLogits() {
  SmallVector<StringRef> heads = {"hq"};
  if (perBatch)
    heads.insert(heads.begin(), "b");
  SmallVector<StringRef> extents = heads;
  if (perRow)
    extents.push_back("r");
  logits = context.kept(name + "_logits", extents);
  TileBuilder t = beginStage(context.plan, name + "_prepare", Phase::Prepare,
                             perRow ? ArrayRef(heads) : ArrayRef<StringRef>());
  t.foreach (perRow ? ArrayRef<StringRef>("r") : ArrayRef(heads), [&](Scalar &s, ValueRange at) {
    IRMapping mapping;
    Value logit = emitPrimal(s, mapping, at);
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), logit), logits, at);
  });
}

Value Sink::load(TileBuilder &t) const {
  return t.load(logits, perRow ? SpaceSet{"r"} : SpaceSet{});
}

std::pair<Value, Value> Sink::emit(TileBuilder &t, double unit) {
  SmallVector<Value> start = t.mapMany({load(t)}, {"r"}, 2, [&](Scalar &s, ValueRange in) {
    // A logit of minus infinity has no effect, and NaN remains in the sum.
    Value scaled = s.mul(in[0], s.number(kLog2E / unit));
    Value largest = s.max(scaled, s.number(kLeastMaximum));
    Value difference = s.mul(s.sub(scaled, largest), s.number(unit));
    return SmallVector<Value>{largest, s.exp2Below127(difference)};
  });
  return {start[0], start[1]};
}

Value Sink::emitGradient(TileBuilder &t, Value subtrahend, Value rowConstant) {
  if (!rows)
    return {};
  return t.map({load(t), subtrahend, rowConstant}, {"r"}, [](Scalar &s, ValueRange in) {
    Value weight = s.exp2Below127(s.sub(s.mul(in[0], s.number(kLog2E)), in[1]));
    return s.mul(weight, in[2]);
  });
}

void mlir::tile::finishLogits(PlanContext &context, const Twine &stage, Value rows,
                              const Parameter &parameter) {
  TileBuilder t = beginStage(context.plan, stage.str(), Phase::Finish, {});
  t.foreach ({"b", "hq", "r"}, [&](Scalar &s, ValueRange at) {
    Value wide = s.create<arith::ExtFOp>(s.getF64Type(), readElement(s, rows, at));
    accumulateElement(s, wide, parameter.gradientSums, at[1]);
  });
}

void Sink::finish() {
  if (!rows)
    return;
  if (Parameter *parameter = ofHeads())
    return finishLogits(context, name + "_finish", rows, *parameter);
  TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  t.foreach ({"b", "hq", "r"}, [&](Scalar &s, ValueRange at) {
    Value wide = s.create<arith::ExtFOp>(s.getF64Type(), readElement(s, rows, at));
    ifNonZero(s, wide, [&](Scalar &x) {
      SmallVector<Value> element(at);
      if (!perRow)
        element.pop_back();
      if (!perBatch)
        element.erase(element.begin());
      IRMapping mapping;
      emitPrimal(x, mapping, element);
      TileParameters params(context, op.getBody().front(), op.getCaptures());
      params.compute = x.getF64Type();
      vjp->emitAdjoint(x, mapping, wide, params);
    });
  });
}
