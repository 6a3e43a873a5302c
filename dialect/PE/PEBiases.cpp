//===- PEBiases.cpp - Values of additive biases ---------------------------===//

#include "dialect/PE/PEBiases.h"

#include "dialect/PE/PEMlpLayers.h"
#include "dialect/PE/PEScalarBuilder.h"
#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEBiases.cpp.inc"

static LogicalResult verifyFiniteFactor(Operation *op, const APFloat &factor, StringRef label) {
  if (isFiniteInF32(factor.convertToDouble()))
    return success();
  return op->emitOpError("expected a factor that is finite in f32, found ")
         << factor.convertToDouble() << " (" << label << ")";
}

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() {
  if (static_cast<bool>(getSlope()) == getRule().has_value()) // linear-C1
    return emitOpError("expected either a slope or a rule, found ")
           << (getSlope() ? "both" : "neither") << " (linear-C1)";
  return verifyFiniteFactor(*this, getFactor(), "linear-C2");
}

/// Emits 2^(-8 ordinal / heads) of f32 values.
static Value buildGeometricSlope(ScalarBuilder &f, Value ordinal, Value heads) {
  return f.create<math::Exp2Op>(f.div(f.mul(f.number(-8.0), ordinal), heads));
}

/// Emits the geometric slopes of n heads, the largest power of two n <= H, followed by every second
/// slope of 2n heads.
static Value buildInterleavedSlope(ScalarBuilder &f, OpBuilder &builder, Value head, Value total) {
  Type i32 = builder.getI32Type();
  head = f.create<arith::IndexCastOp>(i32, head);
  total = f.create<arith::IndexCastOp>(i32, total);
  Value one = f.constantInt(1);
  Value zeros = f.create<math::CountLeadingZerosOp>(total);
  Value exponent = f.create<arith::SubIOp>(f.constantInt(31), zeros);
  Value power = f.create<arith::ShLIOp>(one, exponent);
  Value doubled = f.create<arith::ShLIOp>(power, one);
  Value beyond = f.create<arith::SubIOp>(head, power);
  Value isFirst = f.create<arith::CmpIOp>(arith::CmpIPredicate::slt, head, power);
  Value first = f.create<arith::AddIOp>(head, one);
  Value second = f.create<arith::AddIOp>(f.create<arith::ShLIOp>(beyond, one), one);
  return buildGeometricSlope(f, f.toFloat(f.select(isFirst, first, second)),
                             f.toFloat(f.select(isFirst, power, doubled)));
}

static Value buildRuleSlope(ScalarBuilder &f, OpBuilder &builder, const PairPoint &point,
                            SlopeRule rule) {
  Value head = f.create<GlobalHeadOp>(builder.getIndexType(), point.head);
  Value total = f.create<HeadsTotalOp>(builder.getIndexType());
  if (rule == SlopeRule::Interleaved)
    return buildInterleavedSlope(f, builder, head, total);
  return buildGeometricSlope(f, f.add(f.toFloat(head), f.number(1.0)), f.toFloat(total));
}

Value LinearOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                            ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value slope =
      getSlope() ? f.parameter(operands[1]) : buildRuleSlope(f, builder, point, *getRule());
  Value result = f.scale(getFactor().convertToDouble(), f.mul(slope, operands[0]));
  return getIntercept() ? f.add(result, f.parameter(operands.back())) : result;
}

//===----------------------------------------------------------------------===//
// TableOp
//===----------------------------------------------------------------------===//

LogicalResult TableOp::verify() {
  if (getTable().getType().getDimSize(0) == 0) // table-C1
    return emitOpError("expected at least one row, found ")
           << getTable().getType() << " (table-C1)";
  return success();
}

Value TableOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                           ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  auto type = cast<RankedTensorType>(operands[1].getType());
  return f.read(operands[1], {f.toIndex(operands[0]), f.headIndex(type.getDimSize(1))});
}

//===----------------------------------------------------------------------===//
// PowerOp
//===----------------------------------------------------------------------===//

LogicalResult PowerOp::verify() { return verifyFiniteFactor(*this, getFactor(), "power-C1"); }

Value PowerOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                           ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value zero = f.number(0.0), one = f.number(1.0);
  Value positive = f.less(zero, operands[0]);
  // At 0, compute and discard the power of 1, so that no infinite logarithm reaches a gradient.
  Value base = f.select(positive, operands[0], one);
  Value power = f.create<math::PowFOp>(base, f.parameter(operands[1]));
  Value value = f.select(positive, power, zero);
  return f.scale(getFactor().convertToDouble(), f.mul(f.parameter(operands[2]), value));
}

//===----------------------------------------------------------------------===//
// MlpOp
//===----------------------------------------------------------------------===//

LogicalResult MlpOp::verify() {
  if (failed(verifyMlpTolerance(*this, getTolerance())))
    return failure();
  return verifyMlpLayers(*this, getLayers());
}

Value MlpOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                         ValueRange operands) {
  return MlpEvalOp::create(builder, loc, operands[0].getType(), operands[0], point.head,
                           operands.drop_front(), getActivation(), getFinalActivation(),
                           getTolerance());
}

//===----------------------------------------------------------------------===//
// CosineSumOp
//===----------------------------------------------------------------------===//

LogicalResult CosineSumOp::verify() { return verifyCosineSum(*this, getTerms(), getBase()); }

Value CosineSumOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                               ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value sum = CosineSumEvalOp::create(builder, loc, operands[0].getType(), operands[0],
                                      getTermsAttr(), getBaseAttr());
  return getAmplitude() ? f.mul(f.parameter(operands[1]), sum) : sum;
}

//===----------------------------------------------------------------------===//
// Sums and multiples
//===----------------------------------------------------------------------===//

Value AddOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &, ValueRange operands) {
  return arith::AddFOp::create(builder, loc, operands[0], operands[1]);
}

LogicalResult ScaleOp::verify() { return verifyFiniteFactor(*this, getFactor(), "scale-C1"); }

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? getBias() : Value();
}

Value ScaleOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                           ValueRange operands) {
  return ScalarBuilder(builder, loc, point).scale(getFactor().convertToDouble(), operands[0]);
}
