//===- CosineSum.cpp - pe.cosine_sum_eval and its derivative --------------===//

#include "passes/Transforms/CosineSum.h"

#include "dialect/PE/PE.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Transforms/ParameterAccess.h"
#include <cmath>

namespace mlir::pe {
namespace {

/// A sum over the frequencies.
class Sum {
public:
  /// One summand, at the insertion point of `builder`.
  using Term = llvm::function_ref<Value(OpBuilder &builder, Value frequency)>;

  Sum(CosineSumEvalOp op, FloatType type, OpBuilder &builder)
      : terms(op.getTerms()), base(op.getBase().convertToDouble()), type(type), loc(op.getLoc()),
        builder(builder) {}

  Value emit(Term term) {
    constexpr int64_t kMostWritten = 16; // longer sums are loops
    return terms <= kMostWritten ? write(term) : loop(term);
  }

private:
  double frequency(int64_t k) const { return std::pow(base, -static_cast<double>(k) / terms); }
  Value constant(double value, FloatType of) {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(of, value));
  }
  Value write(Term term) {
    Value sum;
    for (int64_t k = 1; k <= terms; ++k) {
      Value value = term(builder, constant(frequency(k), type));
      sum = sum ? arith::AddFOp::create(builder, loc, sum, value).getResult() : value;
    }
    return sum;
  }
  Value loop(Term term) {
    Value step = constant(frequency(1), builder.getF64Type());
    auto index = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
    auto loop = scf::ForOp::create(
        builder, loc, index(0), index(terms), index(1), ValueRange{constant(0, type), step},
        [&](OpBuilder &inner, Location, Value, ValueRange carried) {
          Value value = term(inner, convertFloat(inner, loc, carried[1], type));
          Value sum = arith::AddFOp::create(inner, loc, carried[0], value);
          Value next = arith::MulFOp::create(inner, loc, carried[1], step);
          scf::YieldOp::create(inner, loc, ValueRange{sum, next});
        });
    return loop.getResult(0);
  }

  const int64_t terms;
  const double base;
  const FloatType type;
  const Location loc;
  OpBuilder &builder;
};

} // namespace

Value emitCosineSum(CosineSumEvalOp op, Value x, OpBuilder &builder) {
  Location loc = op.getLoc();
  return Sum(op, cast<FloatType>(x.getType()), builder).emit([&](OpBuilder &b, Value frequency) {
    return math::CosOp::create(b, loc, arith::MulFOp::create(b, loc, frequency, x)).getResult();
  });
}

Value emitCosineSumSlope(CosineSumEvalOp op, Value x, OpBuilder &builder) {
  Location loc = op.getLoc();
  Value sum =
      Sum(op, cast<FloatType>(x.getType()), builder).emit([&](OpBuilder &b, Value frequency) {
        Value angle = arith::MulFOp::create(b, loc, frequency, x);
        return arith::MulFOp::create(b, loc, frequency, math::SinOp::create(b, loc, angle))
            .getResult();
      });
  return arith::NegFOp::create(builder, loc, sum);
}

} // namespace mlir::pe
