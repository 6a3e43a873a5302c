//===- QueryFactor.cpp - factors of scores and weights per query ----------===//

#include "passes/Analysis/QueryFactor.h"

#include "dialect/PE/PEScalars.h"

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

/// Finds the values of a region that depend only on batch, head and query, in one pass over its
/// operations.
class QueryValues {
public:
  /// `score` is null in a region without scores.
  QueryValues(Block &block, Value score, Value query, Value key) {
    for (BlockArgument argument : block.getArguments())
      facts[argument] = {.interval = Interval()};
    facts[query] = {.readsQuery = true, .interval = Interval{0, 1 << 30}};
    facts[key] = {.readsPair = true, .interval = Interval()};
    if (score)
      facts[score] = {.readsPair = true, .isLinear = true, .interval = Interval()};
    for (Operation &op : block.without_terminator())
      for (Value result : op.getResults())
        facts[result] = factsOf(&op);
  }

  /// Returns true if the value is the score times a value of the query.
  bool isLinear(Value value) const { return facts.find(value)->second.isLinear; }
  /// Returns true for a value of the query that is finite at every position.
  bool isOfQuery(Value value) const {
    const Facts &known = facts.find(value)->second;
    return !known.readsPair && known.interval && !known.interval->mayOverflow;
  }
  /// Returns true for a value of the query whose reciprocal is finite at every position, or that
  /// does not depend on the position.
  bool isDivisor(Value value) const {
    if (!isOfQuery(value))
      return false;
    const Facts &known = facts.find(value)->second;
    return known.interval->low > 0 || known.interval->high < 0 || !known.readsQuery;
  }

private:
  struct Facts {
    bool readsQuery = false;
    bool readsPair = false; ///< the score, the key, or a random draw
    bool isLinear = false;
    Known interval; ///< nothing if the value may be NaN or -infinity at some position
  };

  Facts factsOf(Operation *op) const {
    Facts result;
    op->walk([&](Operation *inner) {
      // Random draws differ from pair to pair, although they have no operand that does.
      result.readsPair |= isa<DropoutFactorOp>(inner);
      for (Value operand : inner->getOperands())
        if (auto known = facts.find(operand); known != facts.end()) {
          result.readsQuery |= known->second.readsQuery;
          result.readsPair |= known->second.readsPair;
        }
    });
    result.isLinear = isLinearResult(op);
    result.interval = intervalOfResult(op);
    // A value that does not read the position, such as 1 / tau[h], has no known bounds.
    if (!result.interval && !result.readsQuery)
      result.interval = Interval();
    return result;
  }

  bool isLinearResult(Operation *op) const {
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

  Known intervalOfResult(Operation *op) const {
    APFloat real(0.0);
    APInt integer;
    if (matchPattern(op, m_ConstantFloat(&real)))
      return Interval{real.convertToDouble(), real.convertToDouble()};
    if (matchPattern(op, m_ConstantInt(&integer)))
      return hullOf({integer.signedRoundToDouble()});
    // The condition of a select only chooses between the other operands.
    const unsigned first = isa<arith::SelectOp>(op) ? 1 : 0;
    SmallVector<Interval> in;
    for (Value operand : op->getOperands().drop_front(first)) {
      if (isa<ShapedType>(operand.getType()))
        continue;
      const Known &known = facts.find(operand)->second.interval;
      if (!known)
        return std::nullopt;
      in.push_back(*known);
    }
    const Known result = intervalOf(op, in);
    // f32 numbers end before the bound, as for x * x * x * x * x with x = 0.5 * i.
    auto exceeds = [](double bound) {
      return std::isfinite(bound) && std::abs(bound) > std::numeric_limits<float>::max();
    };
    const bool isTooLarge =
        result && !result->mayOverflow && (exceeds(result->low) || exceeds(result->high));
    return isTooLarge ? std::nullopt : result;
  }

  static Known intervalOf(Operation *op, ArrayRef<Interval> in) {
    if (isa<arith::SelectOp>(op))
      return Interval{std::min(in[0].low, in[1].low), std::max(in[0].high, in[1].high),
                      in[0].mayOverflow || in[1].mayOverflow};
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

  llvm::DenseMap<Value, Facts> facts;
};

} // namespace

bool isPerQuery(ScoreFnOp function) {
  Region &body = function.getBody();
  return QueryValues(body.front(), body.getArgument(0), body.getArgument(3), body.getArgument(4))
      .isLinear(yieldedBy(body));
}

FactorParts findParts(FactorFnOp function) {
  Region &body = function.getBody();
  const QueryValues values(body.front(), Value(), body.getArgument(2), body.getArgument(3));
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
