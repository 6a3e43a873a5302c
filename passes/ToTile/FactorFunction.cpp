//===- FactorFunction.cpp - lowering of pe.factor_fn, a factor on weights -===//
#include "passes/ToTile/FactorFunction.h"

#include "dialect/PE/PEScalars.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tile;

static Value rootOf(pe::FactorFnOp op) {
  return cast<pe::YieldOp>(op.getBody().front().getTerminator()).getValues()[0];
}

FactorFunction::FactorFunction(PlanContext &context, pe::FactorFnOp op, const std::string &name)
    : context(context), op(op), region(op.getBody().front()),
      reads(context, region, /*first=*/0, op.getCaptures(), name),
      sums(context, reads.others(), name, &reads, op) {}

bool FactorFunction::isOne(pe::FactorFnOp op) {
  auto draw = rootOf(op).getDefiningOp<pe::DropoutFactorOp>();
  return draw && draw.getProbability().isZero();
}

LogicalResult FactorFunction::prepare() {
  SmallVector<Value> inputs;
  for (pe::DropoutFactorOp draw : op.getDraws())
    inputs.push_back(draw);
  FailureOr<pe::ScalarVjp> whole = pe::ScalarVjp::create(rootOf(op), inputs);
  if (failed(whole))
    return failure();
  isActive = context.grad && llvm::any_of(op.getCaptures(), [&](Value capture) {
               return isa<FloatType>(cast<ShapedType>(capture.getType()).getElementType());
             });
  llvm::append_range(inputs, reads.values());
  vjp.emplace(*pe::ScalarVjp::create(rootOf(op), inputs));
  return success();
}

/// Emits a random 1 / (1 - p) or 0 for every pair.
static Value emitDraw(TileBuilder &t, Value seed, double probability) {
  if (probability == 0.0)
    return t.constant(1.0, {"r", "c"});
  // A word is an integer, so `word >= p * 2^32` is `word >= ceil(p * 2^32)`.
  const auto least = static_cast<int64_t>(std::ceil(std::ldexp(probability, 32)));
  return t.create<RandomOp>(t.type({"r", "c"}), seed, t.getI64IntegerAttr(least),
                            t.getF64FloatAttr(1.0 / (1.0 - probability)));
}

void FactorFunction::mapPoint(IRMapping &mapping, ValueRange drawn, ValueRange at) {
  mapping.map(region.getArguments().take_front(4), at);
  for (auto [draw, value] : llvm::zip_equal(op.getDraws(), drawn))
    mapping.map(draw.getResult(), value);
}

Value FactorFunction::emit(TileBuilder &t, Value weight) {
  draws.clear();
  for (pe::DropoutFactorOp draw : op.getDraws())
    draws.push_back(emitDraw(t, context.parameters[op.getSeed(draw)].buffer,
                             draw.getProbability().convertToDouble()));
  if (rootOf(op).getDefiningOp<pe::DropoutFactorOp>() && draws.size() == 1)
    return draws.front();
  SmallVector<Value> inputs = t.pairPoint();
  inputs.push_back(weight);
  inputs.append(draws);
  return t.map(inputs, {"r", "c"}, [&](Scalar &s, ValueRange in) {
    TileParameters params = parameters();
    IRMapping mapping;
    mapPoint(mapping, in.drop_front(5), in.take_front(4));
    Value factor = vjp->emitPrimal(s, mapping, params), zero = s.number(0.0);
    Value takesPart = s.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, in[4], zero);
    return s.select(takesPart, factor, zero);
  });
}

void FactorFunction::emitGradient(TileBuilder &t, Value cotangent) {
  sums.create();
  reads.create();
  SmallVector<Value> inputs = t.pairPoint();
  llvm::append_range(inputs, ValueRange{cotangent, t.index("r"), t.index("c")});
  inputs.append(draws);
  t.eachPair(inputs, [&](Scalar &s, ValueRange in) {
    TileParameters params = parameters();
    sums.use(params, in, in[5], in[6]);
    IRMapping mapping;
    mapPoint(mapping, in.drop_front(7), in.take_front(4));
    for (Value value : reads.values()) // first, so that it counts as an input
      pe::emitScalar(value, mapping, s, params);
    vjp->emitPrimal(s, mapping, params);
    SmallVector<Value> adjoints = vjp->emitAdjoint(s, mapping, in[4], params);
    reads.accumulate(s, in[0], in[1], in[5], in[6], ArrayRef(adjoints).drop_front(draws.size()));
  });
}

void FactorFunction::finish() {
  if (!isActive)
    return;
  sums.finish();
  reads.finish();
}
