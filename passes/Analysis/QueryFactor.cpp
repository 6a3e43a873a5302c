//===- QueryFactor.cpp - factors of scores and weights per query ----------===//

#include "passes/Analysis/QueryFactor.h"

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
  /// The value may also be +infinity, as exp(x) for a large x. `low` is then a known bound.
  bool mayOverflow = false;
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

Value yieldedBy(Region &body) { return cast<YieldOp>(body.front().getTerminator()).getValues()[0]; }

/// Finds values of a region that depend on batch, head and query.
class QueryValues {
public:
  /// `score` is null in a region without scores.
  QueryValues(Value score, Value query, Value key) : score(score), query(query), key(key) {}

  /// Returns true if the value is the score times a value of the query.
  bool isLinear(Value value) {
    if (auto known = linear.find(value); known != linear.end())
      return known->second;
    const bool result = findIsLinear(value);
    linear[value] = result;
    return result;
  }
  /// Returns true for a value of the query whose reciprocal is finite at every position, or that
  /// does not depend on the position.
  bool isDivisor(Value value) {
    if (!isOfQuery(value))
      return false;
    const Known known = intervalOf(value);
    return known->low > 0 || known->high < 0 || !reaches(value, query);
  }
  /// Returns true for a value of the query that is finite at every position.
  bool isOfQuery(Value value) {
    if ((score && reaches(value, score)) || reaches(value, key) || isRandom(value))
      return false;
    Known known = intervalOf(value);
    return known && !known->mayOverflow;
  }

private:
  bool findIsLinear(Value value);
  /// Random draws differ from pair to pair, although they have no operand that does.
  static bool isRandom(Value value) {
    return llvm::any_of(collectSlice(value),
                        [](Operation *op) { return isa<DropoutFactorOp>(op); });
  }
  static bool reaches(Value value, Value leaf) {
    return value == leaf || llvm::any_of(collectSlice(value), [&](Operation *op) {
             return llvm::is_contained(op->getOperands(), leaf);
           });
  }

  /// Returns nothing if the value may be NaN at some position, or -infinity.
  Known intervalOf(Value value) {
    if (auto known = intervals.find(value); known != intervals.end())
      return known->second;
    const Known result = findInterval(value);
    intervals[value] = result;
    return result;
  }

  Known findInterval(Value value) {
    if (value == query)
      return Interval{0, 1 << 30};
    APFloat real(0.0);
    if (matchPattern(value, m_ConstantFloat(&real)))
      return Interval{real.convertToDouble(), real.convertToDouble()};
    APInt integer;
    if (matchPattern(value, m_ConstantInt(&integer)))
      return hullOf({integer.signedRoundToDouble()});
    Known known = value.getDefiningOp() ? intervalOfResult(value.getDefiningOp()) : Known();
    // A value that does not read the position, such as 1 / tau[h], has no known bounds.
    return known || reaches(value, query) ? known : Known(Interval());
  }

  Known intervalOfResult(Operation *op) {
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      const Known a = intervalOf(select.getTrueValue()), b = intervalOf(select.getFalseValue());
      if (!a || !b)
        return std::nullopt;
      return Interval{std::min(a->low, b->low), std::max(a->high, b->high),
                      a->mayOverflow || b->mayOverflow};
    }
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
    if (llvm::any_of(in, [](const Interval &each) { return each.mayOverflow; }))
      return intervalOfOverflow(op, in);
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
        .Case<math::ExpOp>([&](auto) {
          const double high = std::exp(in[0].high);
          return Interval{std::exp(in[0].low), high, high > std::numeric_limits<float>::max()};
        })
        .Case<math::TanhOp, math::SinOp, math::CosOp, math::ErfOp>(
            [&](auto) { return Interval{-1, 1}; })
        .Case<ReadOp>([&](auto) { return Interval(); })
        .Default([](Operation *) { return std::nullopt; });
  }

  /// Handles operations on values that may be +infinity: those of sigmoid(x) = 1 / (1 + exp(-x)).
  static Known intervalOfOverflow(Operation *op, ArrayRef<Interval> in) {
    if (isa<arith::AddFOp>(op)) // no operand may be -infinity
      return Interval{in[0].low + in[1].low, kInfinity, /*mayOverflow=*/true};
    if (isa<arith::DivFOp>(op) && !in[0].mayOverflow && in[1].low > 0)
      return product(in[0], {0, 1 / in[1].low});
    if (isa<math::TanhOp, math::ErfOp>(op))
      return Interval{-1, 1};
    return std::nullopt;
  }

  Value score, query, key;
  // Values may be shared by many others.
  llvm::DenseMap<Value, Known> intervals;
  llvm::DenseMap<Value, bool> linear;
};

} // namespace

bool QueryValues::findIsLinear(Value value) {
  if (value == score)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::MulFOp>([&](auto mul) {
        return (isLinear(mul.getLhs()) && isOfQuery(mul.getRhs())) ||
               (isOfQuery(mul.getLhs()) && isLinear(mul.getRhs()));
      })
      .Case<arith::DivFOp>(
          [&](auto div) { return isLinear(div.getLhs()) && isDivisor(div.getRhs()); })
      .Case<arith::AddFOp, arith::SubFOp>(
          [&](auto sum) { return isLinear(sum.getLhs()) && isLinear(sum.getRhs()); })
      .Case<arith::NegFOp>([&](auto negated) { return isLinear(negated.getOperand()); })
      .Default([](Operation *) { return false; });
}

bool isPerQuery(ScoreFnOp function) {
  Region &body = function.getBody();
  return QueryValues(body.getArgument(0), body.getArgument(3), body.getArgument(4))
      .isLinear(yieldedBy(body));
}

FactorParts findParts(FactorFnOp function) {
  Region &body = function.getBody();
  QueryValues values(Value(), body.getArgument(2), body.getArgument(3));
  FactorParts parts;
  SmallVector<Value> constants;
  for (SmallVector<Value> pending = {yieldedBy(body)}; !pending.empty();) {
    Value value = pending.pop_back_val();
    const bool isOfQuery = values.isOfQuery(value);
    auto product = value.getDefiningOp<arith::MulFOp>();
    auto quotient = value.getDefiningOp<arith::DivFOp>();
    if (product && !isOfQuery && value.hasOneUse()) {
      pending.append({product.getRhs(), product.getLhs()});
    } else if (quotient && !isOfQuery && value.hasOneUse() && values.isDivisor(quotient.getRhs())) {
      pending.push_back(quotient.getLhs());
      parts.divisors.push_back(quotient.getRhs());
    } else if (matchPattern(value, m_Constant())) {
      constants.push_back(value);
    } else {
      (isOfQuery ? parts.perQuery : parts.perPair).push_back(value);
    }
  }
  llvm::append_range(parts.perPair.empty() ? parts.perQuery : parts.perPair, constants);
  return parts;
}

} // namespace mlir::pe
