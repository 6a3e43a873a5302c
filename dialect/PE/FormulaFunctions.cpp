//===- FormulaFunctions.cpp - the functions of formulas -------------------===//

#include "dialect/PE/FormulaFunctions.h"

#include "dialect/PE/PEDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/plan/FunctionForms.h"

using namespace mlir;
using namespace mlir::pe;

using arith::CmpFPredicate;

template <typename OpTy> static Value buildUnary(OpBuilder &builder, Location loc, Value x) {
  return OpTy::create(builder, loc, x);
}

/// Creates a constant of the type of `like`.
static Value numberOf(OpBuilder &builder, Location loc, double value, Value like) {
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(like.getType(), value));
}

static Value compare(OpBuilder &builder, Location loc, CmpFPredicate predicate, Value x) {
  return arith::CmpFOp::create(builder, loc, predicate, x, numberOf(builder, loc, 0, x));
}

/// 0 if x <= 0, else x. Its derivative at 0 is 0, and it propagates NaN.
static Value buildRelu(OpBuilder &builder, Location loc, Value x) {
  Value isOff = compare(builder, loc, CmpFPredicate::OLE, x);
  return arith::SelectOp::create(builder, loc, isOff, numberOf(builder, loc, 0, x), x);
}

/// 1 / (1 + exp(-x)).
static Value buildSigmoid(OpBuilder &builder, Location loc, Value x) {
  Value one = numberOf(builder, loc, 1, x);
  Value power = math::ExpOp::create(builder, loc, arith::NegFOp::create(builder, loc, x));
  return arith::DivFOp::create(builder, loc, one, arith::AddFOp::create(builder, loc, one, power));
}

/// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)).
static Value buildSoftplus(OpBuilder &builder, Location loc, Value x) {
  Value magnitude = math::AbsFOp::create(builder, loc, x);
  Value power = math::ExpOp::create(builder, loc, arith::NegFOp::create(builder, loc, magnitude));
  Value large = arith::MaximumFOp::create(builder, loc, x, numberOf(builder, loc, 0, x));
  return arith::AddFOp::create(builder, loc, large, math::Log1pOp::create(builder, loc, power));
}

/// -1, 0 or 1. Propagates NaN.
static Value buildSign(OpBuilder &builder, Location loc, Value x) {
  Value one = math::CopySignOp::create(builder, loc, numberOf(builder, loc, 1, x), x);
  Value isZero = compare(builder, loc, CmpFPredicate::OEQ, x);
  Value sign = arith::SelectOp::create(builder, loc, isZero, numberOf(builder, loc, 0, x), one);
  return arith::SelectOp::create(builder, loc, math::IsNaNOp::create(builder, loc, x), x, sign);
}

static const FormulaFunction kFunctions[] = {
    {"abs", 1, buildUnary<math::AbsFOp>},
    {"clamp", 3, nullptr},
    {"cos", 1, buildUnary<math::CosOp>},
    {"erf", 1, buildUnary<math::ErfOp>},
    {"exp", 1, buildUnary<math::ExpOp>},
    {"floor", 1, buildUnary<math::FloorOp>},
    {"global_head", 1, nullptr},
    {"int", 1, nullptr},
    {"log", 1, buildUnary<math::LogOp>},
    {"log1p", 1, buildUnary<math::Log1pOp>},
    {"max", 2, nullptr},
    {"min", 2, nullptr},
    {"pow", 2, nullptr},
    {"relu", 1, buildRelu},
    {"sigmoid", 1, buildSigmoid},
    {"sign", 1, buildSign},
    {"sin", 1, buildUnary<math::SinOp>},
    {"softplus", 1, buildSoftplus},
    {"sqrt", 1, buildUnary<math::SqrtOp>},
    {"tanh", 1, buildUnary<math::TanhOp>},
};

ArrayRef<FormulaFunction> mlir::pe::formulaFunctions() { return kFunctions; }

const FormulaFunction *mlir::pe::findFormulaFunction(StringRef name) {
  const auto *function =
      llvm::find_if(kFunctions, [&](const FormulaFunction &known) { return known.name == name; });
  return function == std::end(kFunctions) ? nullptr : function;
}

std::string mlir::pe::adviceOnFormulaFunction(StringRef name) {
  if (std::string advice = ::pe::plan::adviceOnFunction(name); !advice.empty())
    return "; " + advice;
  SmallVector<StringRef> known = {"select", "sum", "size", "and", "or", "not"};
  for (const FormulaFunction &function : kFunctions)
    known.push_back(function.name);
  StringRef nearest = findNearestName(name, known);
  return nearest.empty() || name.size() < 3 ? "" : ("; did you mean " + nearest + "?").str();
}
