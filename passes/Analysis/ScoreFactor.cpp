//===- ScoreFactor.cpp - score factors to fold into queries ---------------===//

#include "passes/Analysis/ScoreFactor.h"

#include "dialect/PE/PEScalars.h"
#include "passes/Analysis/Slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlir::pe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The finite numbers from `low` to `high`; an infinite bound means that no bound is known.
struct Interval {
  double low = -kInfinity, high = kInfinity;
};
using Known = std::optional<Interval>;

/// Returns a * b. 0 times an unknown bound is 0, because values are finite.
double productOf(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Interval hullOf(std::initializer_list<double> numbers) {
  return {std::min(numbers), std::max(numbers)};
}

Interval product(Interval a, Interval b) {
  return hullOf({productOf(a.low, b.low), productOf(a.low, b.high), productOf(a.high, b.low),
                 productOf(a.high, b.high)});
}

Known quotient(Interval a, Interval b) {
  if (b.low <= 0 && b.high >= 0)
    return std::nullopt;
  return product(a, hullOf({1 / b.low, 1 / b.high}));
}

/// Returns the image under f, which is monotonic and finite above `pole`.
template <typename Function> Known above(Interval in, double pole, Function f) {
  return in.low > pole ? Known(hullOf({f(in.low), f(in.high)})) : std::nullopt;
}

class Factor {
public:
  explicit Factor(ScoreFnOp op) : body(op.getBody().front()) {}

  bool isFound() { return isLinear(cast<YieldOp>(body.getTerminator()).getValues().front()); }

private:
  Value score() { return body.getArgument(0); }
  Value query() { return body.getArgument(3); }
  Value key() { return body.getArgument(4); }

  static bool reaches(Value value, Value leaf) {
    return value == leaf || llvm::any_of(collectSlice(value), [&](Operation *op) {
             return llvm::is_contained(op->getOperands(), leaf);
           });
  }

  /// Returns true if the value is the score times a value of the query.
  bool isLinear(Value value) {
    if (value == score())
      return true;
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<arith::MulFOp>([&](auto mul) {
          return (isLinear(mul.getLhs()) && isOfQuery(mul.getRhs())) ||
                 (isOfQuery(mul.getLhs()) && isLinear(mul.getRhs()));
        })
        .Case<arith::DivFOp>([&](auto div) {
          Known divisor = isOfQuery(div.getRhs()) ? intervalOf(div.getRhs()) : std::nullopt;
          const bool isFinite = divisor && (divisor->low > 0 || divisor->high < 0);
          return isLinear(div.getLhs()) && divisor && (isFinite || !reaches(div.getRhs(), query()));
        })
        .Case<arith::AddFOp, arith::SubFOp>(
            [&](auto sum) { return isLinear(sum.getLhs()) && isLinear(sum.getRhs()); })
        .Case<arith::NegFOp>([&](auto negated) { return isLinear(negated.getOperand()); })
        .Default([](Operation *) { return false; });
  }

  bool isOfQuery(Value value) {
    return !reaches(value, score()) && !reaches(value, key()) && intervalOf(value);
  }

  /// Returns nothing if the value may be infinite or NaN at some position.
  Known intervalOf(Value value) {
    if (value == query())
      return Interval{0, 1 << 30};
    APFloat real(0.0);
    if (matchPattern(value, m_ConstantFloat(&real)))
      return Interval{real.convertToDouble(), real.convertToDouble()};
    APInt integer;
    if (matchPattern(value, m_ConstantInt(&integer)))
      return hullOf({integer.signedRoundToDouble()});
    Known known = value.getDefiningOp() ? intervalOfResult(value.getDefiningOp()) : Known();
    // A value that does not read the position, such as 1 / tau[h], has no known bounds.
    return known || reaches(value, query()) ? known : Known(Interval());
  }

  Known intervalOfResult(Operation *op) {
    SmallVector<Interval> in;
    for (Value operand : op->getOperands()) {
      if (isa<ShapedType>(operand.getType()))
        continue;
      Known known = intervalOf(operand);
      if (!known)
        return std::nullopt;
      in.push_back(*known);
    }
    return intervalOf(op, in);
  }

  Known intervalOf(Operation *op, ArrayRef<Interval> in) {
    return llvm::TypeSwitch<Operation *, Known>(op)
        .Case<arith::AddIOp, arith::AddFOp>(
            [&](auto) { return Interval{in[0].low + in[1].low, in[0].high + in[1].high}; })
        .Case<arith::SubIOp, arith::SubFOp>(
            [&](auto) { return Interval{in[0].low - in[1].high, in[0].high - in[1].low}; })
        .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return product(in[0], in[1]); })
        .Case<arith::DivFOp>([&](auto) { return quotient(in[0], in[1]); })
        .Case<arith::NegFOp>([&](auto) { return Interval{-in[0].high, -in[0].low}; })
        .Case<arith::MaxSIOp, arith::MaxNumFOp, arith::MaximumFOp>([&](auto) {
          return Interval{std::max(in[0].low, in[1].low), std::max(in[0].high, in[1].high)};
        })
        .Case<arith::MinSIOp, arith::MinNumFOp, arith::MinimumFOp>([&](auto) {
          return Interval{std::min(in[0].low, in[1].low), std::min(in[0].high, in[1].high)};
        })
        .Case<arith::IndexCastOp, arith::ExtSIOp, arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp>(
            [&](auto) { return in[0]; })
        .Case<math::LogOp, math::Log2Op, math::Log10Op>(
            [&](Operation *) { return above(in[0], 0, [](double x) { return std::log(x); }); })
        .Case<math::Log1pOp>(
            [&](auto) { return above(in[0], -1, [](double x) { return std::log1p(x); }); })
        .Case<math::SqrtOp>(
            [&](auto) { return above(in[0], -0x1p-1074, [](double x) { return std::sqrt(x); }); })
        .Case<math::RsqrtOp>(
            [&](auto) { return above(in[0], 0, [](double x) { return 1 / std::sqrt(x); }); })
        .Case<math::TanhOp, math::SinOp, math::CosOp, math::ErfOp>(
            [&](auto) { return Interval{-1, 1}; })
        .Case<ReadOp>([&](auto) { return Interval(); })
        .Default([](Operation *) { return std::nullopt; });
  }

  Block &body;
};

} // namespace

bool isQueryFactor(ScoreFnOp function) { return Factor(function).isFound(); }

} // namespace mlir::pe
