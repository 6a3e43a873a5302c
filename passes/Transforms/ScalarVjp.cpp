//===- ScalarVjp.cpp - reverse mode for scalars of bias regions -----------===//
//
// One rule per operation, sorted by family: sums and products, choices (max, min, clamp, select),
// powers and roots, exponentials and logarithms, trigonometry.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/ScalarVjp.h"

#include "dialect/FloatBuilder.h"
#include "dialect/Math/ScalarOps.h"
#include "dialect/PE/PE.h"
#include "passes/Analysis/Slice.h"
#include "passes/Transforms/ChainEval.h"
#include "passes/Transforms/CosineSum.h"
#include "passes/Transforms/SumEval.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numbers>

namespace mlir::pe {
namespace {

//===----------------------------------------------------------------------===//
// Operations with rules
//===----------------------------------------------------------------------===//

/// Operations whose derivative is zero wherever it exists; all other scalar operations have rules
/// below, or no floating operand.
bool isPiecewiseConstant(Operation *op) {
  const ::pe::math::ScalarOp *row = ::pe::math::findScalarOp(op->getName().getStringRef());
  return row && row->derivative == ::pe::math::Derivative::Zero;
}

//===----------------------------------------------------------------------===//
// Emission of the rules
//===----------------------------------------------------------------------===//

/// Float arithmetic with constants of the type of another value.
struct Emit : FloatBuilder {
  using FloatBuilder::FloatBuilder;

  Value constant(double value, Value like) { return number(value, like.getType()); }
  Value scale(double factor, Value a) { return mul(constant(factor, a), a); }
  Value square(Value a) { return mul(a, a); }
  /// Returns `value`, or 0 if `x` is 0, for rules that define the derivative at 0 as 0.
  Value zeroAtZero(Value x, Value value) {
    Value isZero = compare(arith::CmpFPredicate::OEQ, x, constant(0, x));
    return select(isZero, constant(0, value), value);
  }
  Value signOf(Value x) { return create<math::CopySignOp>(constant(1, x), x); }
};

/// An operation with its emitted operands and result, and the cotangent of the result.
struct Site {
  Operation *op;
  SmallVector<Value> operands;
  Value result;
  Value cotangent;
};

/// Passes g to the operand selected by `predicate`, and half to each at a tie.
Value winnerTakes(Emit &e, const Site &s, arith::CmpFPredicate predicate, unsigned index) {
  Value mine = s.operands[index], other = s.operands[1 - index];
  Value tie = e.compare(arith::CmpFPredicate::OEQ, mine, other);
  Value atMost = e.select(tie, e.scale(0.5, s.cotangent), e.constant(0, s.cotangent));
  return e.select(e.compare(predicate, mine, other), s.cotangent, atMost);
}

/// clamp(value, low, high) = min(max(value, low), high). Between the bounds, inclusive, the value
/// receives the entire cotangent. With low > high the result is high.
Value clampAdjoint(Emit &e, const Site &s, unsigned index) {
  Value value = s.operands[0], low = s.operands[1], high = s.operands[2];
  Value zero = e.constant(0, s.cotangent);
  Value isBelow = e.compare(arith::CmpFPredicate::OLT, value, low);
  Value raised = e.select(isBelow, low, value);
  Value isAbove = e.compare(arith::CmpFPredicate::OGT, raised, high);
  Value unlessAbove = e.select(isAbove, zero, s.cotangent);
  if (index == 2)
    return e.select(isAbove, s.cotangent, zero);
  return index == 1 ? e.select(isBelow, unlessAbove, zero) : e.select(isBelow, zero, unlessAbove);
}

/// x^p for a float or integer exponent; 0 at x = 0, and for the exponent also if x < 0.
Value powerAdjoint(Emit &e, const Site &s, unsigned index) {
  Value x = s.operands[0], p = s.operands[1];
  if (index == 1) {
    Value slope = e.mul(s.result, e.log(x));
    Value isDefined = e.compare(arith::CmpFPredicate::UGT, x, e.constant(0, x));
    return e.select(isDefined, e.mul(s.cotangent, slope), e.constant(0, x));
  }
  Value slope;
  if (isa<math::FPowIOp>(s.op)) {
    Value one = e.create<arith::ConstantOp>(e.getOneAttr(p.getType()));
    Value less = e.create<arith::SubIOp>(p, one);
    Value factor = e.create<arith::SIToFPOp>(x.getType(), p);
    slope = e.mul(factor, emitWholePower(e, e.getLoc(), x, less));
  } else {
    slope = e.mul(p, e.create<math::PowFOp>(x, e.sub(p, e.constant(1, p))));
  }
  return e.zeroAtZero(x, e.mul(s.cotangent, slope));
}

/// atan2(y, x); 0 at the origin.
Value atan2Adjoint(Emit &e, const Site &s, unsigned index) {
  Value y = s.operands[0], x = s.operands[1];
  Value norm = e.add(e.square(x), e.square(y));
  Value numerator = index == 0 ? x : e.neg(y);
  return e.zeroAtZero(norm, e.mul(s.cotangent, e.div(numerator, norm)));
}

/// Returns the derivative of a power-like or exponential function of x with value y.
Value exponentialSlope(Emit &e, Operation *op, Value x, Value y) {
  using namespace std::numbers;
  auto reciprocal = [&](double factor, Value of) { return e.div(e.constant(factor, x), of); };
  auto gauss = [&](double factor) { return e.scale(factor, e.exp(e.neg(e.square(x)))); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::AbsFOp>([&](auto) { return e.zeroAtZero(x, e.signOf(x)); })
      .Case<math::SqrtOp>([&](auto) { return e.zeroAtZero(x, reciprocal(0.5, y)); })
      .Case<math::RsqrtOp>([&](auto) { return e.scale(-0.5, e.div(y, x)); })
      .Case<math::CbrtOp>([&](auto) { return e.zeroAtZero(x, reciprocal(1.0 / 3, e.square(y))); })
      .Case<math::ExpOp>([&](auto) { return y; })
      .Case<math::Exp2Op>([&](auto) { return e.scale(ln2, y); })
      .Case<math::ExpM1Op>([&](auto) { return e.exp(x); }) // 1 + y cancels if y is nearly -1
      .Case<math::LogOp>([&](auto) { return reciprocal(1, x); })
      .Case<math::Log2Op>([&](auto) { return reciprocal(log2e, x); })
      .Case<math::Log10Op>([&](auto) { return reciprocal(log10e, x); })
      .Case<math::Log1pOp>([&](auto) { return reciprocal(1, e.add(e.constant(1, x), x)); })
      .Case<math::ErfOp>([&](auto) { return gauss(2 * inv_sqrtpi); })
      .Case<math::ErfcOp>([&](auto) { return gauss(-2 * inv_sqrtpi); })
      .Default([](Operation *) { return Value(); });
}

/// 1 - tanh(x)^2 = 4 t / (1 + t)^2 for t = exp(-2 |x|); the difference cancels if |x| is large.
Value tanhSlope(Emit &e, Value x) {
  Value t = e.exp(e.scale(-2, e.abs(x)));
  return e.div(e.scale(4, t), e.square(e.add(e.constant(1, t), t)));
}

/// Returns the derivative of a trigonometric or hyperbolic function of x with value y.
Value trigonometricSlope(Emit &e, Operation *op, Value x, Value y) {
  Value one = e.constant(1, x);
  auto reciprocal = [&](Value of) { return e.div(one, of); };
  // sqrt(1 - x^2) as a product, which does not cancel near 1 and -1.
  auto cosineOfArc = [&] { return e.sqrt(e.mul(e.sub(one, x), e.add(one, x))); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::SinOp>([&](auto) { return e.create<math::CosOp>(x); })
      .Case<math::CosOp>([&](auto) { return e.neg(e.create<math::SinOp>(x)); })
      .Case<math::TanOp>([&](auto) { return e.add(one, e.square(y)); })
      .Case<math::AsinOp>([&](auto) { return reciprocal(cosineOfArc()); })
      .Case<math::AcosOp>([&](auto) { return e.neg(reciprocal(cosineOfArc())); })
      .Case<math::AtanOp>([&](auto) { return reciprocal(e.add(one, e.square(x))); })
      .Case<math::SinhOp>([&](auto) { return e.create<math::CoshOp>(x); })
      .Case<math::CoshOp>([&](auto) { return e.create<math::SinhOp>(x); })
      .Case<math::TanhOp>([&](auto) { return tanhSlope(e, x); })
      .Default([](Operation *) { return Value(); });
}

/// |a| with the sign of b; constant in b.
Value copySignAdjoint(Emit &e, const Site &s, unsigned index) {
  Value a = s.operands[0], b = s.operands[1];
  if (index == 1)
    return e.constant(0, s.cotangent);
  return e.zeroAtZero(a, e.mul(s.cotangent, e.mul(e.signOf(a), e.signOf(b))));
}

/// a / b and the remainder a - trunc(a / b) * b.
Value quotientAdjoint(Emit &e, const Site &s, unsigned index) {
  Value g = s.cotangent, a = s.operands[0], b = s.operands[1];
  if (isa<arith::DivFOp>(s.op))
    return index == 0 ? e.div(g, b) : e.neg(e.div(e.mul(g, s.result), b));
  if (index == 0)
    return g;
  return e.neg(e.mul(g, e.create<math::TruncOp>(e.div(a, b))));
}

/// Returns the adjoint of operand `index` by the rule of the operation.
Value ruleOf(Emit &e, const Site &s, unsigned index) {
  Value g = s.cotangent;
  auto other = [&](unsigned of) { return e.mul(g, s.operands[of]); };
  return llvm::TypeSwitch<Operation *, Value>(s.op)
      .Case<arith::AddFOp>([&](auto) { return g; })
      .Case<arith::SubFOp>([&](auto) { return index == 0 ? g : e.neg(g); })
      .Case<arith::MulFOp>([&](auto) { return other(1 - index); })
      .Case<math::FmaOp>([&](auto) { return index == 2 ? g : other(1 - index); })
      .Case<arith::DivFOp, arith::RemFOp>([&](auto) { return quotientAdjoint(e, s, index); })
      .Case<arith::NegFOp>([&](auto) { return e.neg(g); })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return convertFloat(e, e.getLoc(), g, s.operands[0].getType()); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return winnerTakes(e, s, arith::CmpFPredicate::OGT, index); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return winnerTakes(e, s, arith::CmpFPredicate::OLT, index); })
      .Case<math::ClampFOp>([&](auto) { return clampAdjoint(e, s, index); })
      .Case<arith::SelectOp>([&](auto) {
        Value zero = e.constant(0, g);
        return index == 1 ? e.select(s.operands[0], g, zero) : e.select(s.operands[0], zero, g);
      })
      .Case<math::CopySignOp>([&](auto) { return copySignAdjoint(e, s, index); })
      .Case<math::PowFOp, math::FPowIOp>([&](auto) { return powerAdjoint(e, s, index); })
      .Case<CosineSumEvalOp>([&](CosineSumEvalOp cosines) {
        return e.mul(g, emitCosineSumSlope(cosines, s.operands[0], e));
      })
      .Case<math::Atan2Op>([&](auto) { return atan2Adjoint(e, s, index); })
      .Default([&](Operation *) {
        Value x = s.operands[0];
        Value slope = exponentialSlope(e, s.op, x, s.result);
        return e.mul(g, slope ? slope : trigonometricSlope(e, s.op, x, s.result));
      });
}

/// Returns the adjoint of operand `index`. A zero cotangent gives zero, even if the slope is
/// infinite or NaN.
Value operandAdjoint(Emit &e, const Site &s, unsigned index) {
  Value adjoint = ruleOf(e, s, index);
  bool isFinite =
      isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::SelectOp, math::ClampFOp,
          arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp>(s.op);
  return isFinite ? adjoint : e.zeroAtZero(s.cotangent, adjoint);
}

/// The adjoints of values, by the values of the region.
struct Adjoints {
  explicit Adjoints(OpBuilder &builder) : builder(builder) {}

  OpBuilder &builder;
  llvm::DenseMap<Value, Value> of;

  void add(Location loc, Value value, Value adjoint) {
    Value &sum = of[value];
    sum = sum ? arith::AddFOp::create(builder, loc, sum, adjoint).getResult() : adjoint;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// ScalarVjp
//===----------------------------------------------------------------------===//

ScalarVjp::ScalarVjp(Value root, ArrayRef<Value> inputs) : root(root), inputs(inputs) {
  active.insert(inputs.begin(), inputs.end());
  slice = collectSlice(root, [&](Value value) { return llvm::is_contained(inputs, value); });
  for (Operation *op : slice) {
    auto sum = dyn_cast<SumOp>(op);
    bool isParameter = isa<ReadOp, PiecewiseOpInterface>(op) || (sum && readsFloats(sum));
    bool depends = llvm::any_of(op->getOperands(), [&](Value v) { return active.contains(v); });
    if (isPiecewiseConstant(op) || !(isParameter || depends))
      continue;
    for (Value result : op->getResults())
      if (isa<FloatType>(result.getType()))
        active.insert(result);
  }
}

FailureOr<ScalarVjp> ScalarVjp::create(Value root, ArrayRef<Value> inputs) {
  ScalarVjp vjp(root, inputs);
  if (failed(vjp.check()))
    return failure();
  return vjp;
}

LogicalResult ScalarVjp::check() const {
  for (Operation *op : slice)
    if (!isEmittable(op))
      return op->emitOpError("expected an operation of arith or math, pe.read, pe.mlp_eval, "
                             "pe.cosine_sum_eval, pe.sum, pe.global_head or pe.heads_total in a "
                             "bias region, found another");
  return success();
}

Value ScalarVjp::emitPrimal(OpBuilder &builder, IRMapping &mapping, ParameterAccess &params,
                            FloatType compute) const {
  return emitScalar(root, mapping, builder, params, compute);
}

/// Emits the adjoint of a sum for `cotangent` of its value: adds to the tensors that the region
/// reads and returns the adjoint of each input for which `isActive` is set, and null for the
/// others.
static SmallVector<Value> emitSumAdjoint(SumOp op, const IRMapping &mapping,
                                         ArrayRef<bool> isActive, Value cotangent,
                                         OpBuilder &builder, ParameterAccess &params) {
  Location loc = op.getLoc();
  SmallVector<Value> inputs, inits;
  for (auto [number, active] : llvm::enumerate(isActive))
    if (active) {
      inputs.push_back(op.getBody().getArgument(number + 1));
      inits.push_back(Emit(loc, builder).constant(0, mapping.lookup(op.getInputs()[number])));
    }
  FailureOr<ScalarVjp> vjp = ScalarVjp::create(op.getSummand(), inputs);
  assert(succeeded(vjp) && "the verifier accepts only ops that have rules");
  FloatType compute = cotangent.getType().isF64() ? builder.getF64Type() : FloatType();
  auto addAdjoints = [&](OpBuilder &b, IRMapping &inside, ParameterAccess &access,
                         ValueRange carried) {
    vjp->emitPrimal(b, inside, access, compute);
    SmallVector<Value> adjoints = vjp->emitAdjoint(b, inside, cotangent, access);
    for (auto [sum, adjoint] : llvm::zip_equal(carried, adjoints))
      adjoint = arith::AddFOp::create(b, loc, sum, adjoint);
    return adjoints;
  };
  ValueRange sums = emitSumLoop(op, mapping, builder, params, inits, addAdjoints);
  SmallVector<Value> result;
  for (bool active : isActive)
    result.push_back(active ? sums[llvm::count_if(result, [](Value v) { return bool(v); })]
                            : Value());
  return result;
}

SmallVector<Value> ScalarVjp::emitAdjoint(OpBuilder &builder, IRMapping &mapping, Value cotangent,
                                          ParameterAccess &params) const {
  Adjoints adjoints(builder);
  if (isActive())
    adjoints.add(root.getLoc(), root, cotangent);
  auto emitted = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
  };
  for (Operation *op : llvm::reverse(slice)) {
    Value g = op->getNumResults() == 1 ? adjoints.of.lookup(op->getResult(0)) : Value();
    if (!g)
      continue;
    Location loc = op->getLoc();
    if (auto read = dyn_cast<ReadOp>(op)) {
      params.accumulate(builder, loc, cast<BlockArgument>(read.getSource()),
                        emitted(read.getIndices()), g);
      continue;
    }
    if (auto chain = dyn_cast<PiecewiseOpInterface>(op)) {
      Value x = chain.getCoordinate();
      Value dx = emitChainAdjoint(chain, mapping.lookup(x), mapping.lookup(chain.getHeadIndex()), g,
                                  builder, params);
      if (active.contains(x))
        adjoints.add(loc, x, dx);
      continue;
    }
    if (auto sum = dyn_cast<SumOp>(op)) {
      auto isActiveInput = [&](Value input) { return active.contains(input); };
      SmallVector<bool> isActive = llvm::map_to_vector(sum.getInputs(), isActiveInput);
      SmallVector<Value> found = emitSumAdjoint(sum, mapping, isActive, g, builder, params);
      for (auto [input, adjoint] : llvm::zip_equal(sum.getInputs(), found))
        if (adjoint)
          adjoints.add(loc, input, adjoint);
      continue;
    }
    Emit emit(loc, builder);
    Site site{op, emitted(op->getOperands()), mapping.lookup(op->getResult(0)), g};
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (active.contains(operand))
        adjoints.add(loc, operand, operandAdjoint(emit, site, index));
  }
  return llvm::map_to_vector(inputs, [&](Value input) {
    Value adjoint = adjoints.of.lookup(input);
    return adjoint ? adjoint : Emit(root.getLoc(), builder).constant(0, cotangent);
  });
}

} // namespace mlir::pe
