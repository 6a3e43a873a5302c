//===- IndexRange.cpp - compile-time ranges of indices --------------------===//

#include "passes/Analysis/IndexRange.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>

namespace mlir::pe {
namespace {

/// The bound of positions, sizes and heads. Keys may be at negative positions.
constexpr double kLimit = 1 << 30;
/// More deeply nested code is not analyzed.
constexpr unsigned kMaxDepth = 64;
/// Values are visited at their uses, so code can be exponentially long. This limits the visits.
constexpr unsigned kMaxSteps = 20000;

Interval sumOf(const Interval &a, const Interval &b) {
  return {a.least + b.least, a.most + b.most};
}

double productOf(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Interval productOf(const Interval &a, const Interval &b) {
  const double ends[] = {productOf(a.least, b.least), productOf(a.least, b.most),
                         productOf(a.most, b.least), productOf(a.most, b.most)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

Interval scaled(const Interval &a, double factor) { return productOf(a, {factor, factor}); }

Interval bothOf(const Interval &a, const Interval &b) {
  return {std::max(a.least, b.least), std::min(a.most, b.most)};
}

Interval eitherOf(const Interval &a, const Interval &b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

/// Returns a // b for a positive constant b.
Interval quotientOf(const Interval &a, const Interval &b) {
  if (!b.isConstant() || b.least <= 0)
    return {};
  return {std::floor(a.least / b.least), std::floor(a.most / b.least)};
}

Interval differencesOf(DifferenceRange range) {
  Interval all;
  if (range.min != DifferenceRange::kUnboundedMin)
    all.least = static_cast<double>(range.min);
  if (range.max != DifferenceRange::kUnboundedMax)
    all.most = static_cast<double>(range.max);
  return bothOf(all, {-2 * kLimit, 2 * kLimit});
}

/// Returns the bounds of a form. i and j vary together, so each way to write the form gives bounds.
Interval intervalOfForm(const PairForm &form, DifferenceRange range) {
  const Interval i = {0, kLimit}, j = {-kLimit, kLimit}, d = differencesOf(range);
  const double q = form.query, k = form.key;
  const Interval separate = sumOf(scaled(i, q), scaled(j, k));
  const Interval byQuery = sumOf(scaled(i, q + k), scaled(d, -k));
  const Interval byKey = sumOf(scaled(j, q + k), scaled(d, q));
  return sumOf(bothOf(separate, bothOf(byQuery, byKey)), {form.constant, form.constant});
}

std::optional<PairForm> combine(const std::optional<PairForm> &a, const std::optional<PairForm> &b,
                                double factor) {
  if (!a || !b)
    return std::nullopt;
  return PairForm{a->query + factor * b->query, a->key + factor * b->key,
                  a->constant + factor * b->constant};
}

std::optional<PairForm> product(const std::optional<PairForm> &a,
                                const std::optional<PairForm> &b) {
  if (!a || !b || !(a->isConstant() || b->isConstant()))
    return std::nullopt;
  return a->isConstant() ? combine(PairForm{}, b, a->constant)
                         : combine(PairForm{}, a, b->constant);
}

std::optional<PairForm> constantOf(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return PairForm{0, 0, number.getValueAsDouble()};
  if (auto number = dyn_cast<IntegerAttr>(op.getValue()); number && !number.getType().isInteger(1))
    return PairForm{0, 0, static_cast<double>(number.getValue().getSExtValue())};
  return std::nullopt;
}

bool isConversion(Operation *op) {
  return isa<arith::IndexCastOp, arith::ExtSIOp, arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp>(
             op) &&
         !op->getOperand(0).getType().isInteger(1);
}

} // namespace

SmallVector<RegionVariable> leadingVariablesOf(Operation *op) {
  auto term = dyn_cast<TermOp>(op);
  if (isa<BiasFnOp, MaskFnOp, FactorFnOp>(op) ||
      (term && term.getTermClass() == TermClass::General))
    return {kBatch, kHead, kQuery, kKey};
  if (isa<ScoreFnOp>(op))
    return {kNoVariable, kBatch, kHead, kQuery, kKey};
  if (isa<SinkFnOp>(op))
    return {kBatch, kHead, kQuery};
  if (isa<ContentFnOp>(op))
    return {kBatch, kHead, kQuery, kKey, kDim, kNoVariable};
  if (isa<EmbeddingFnOp>(op))
    return {kQuery, kDim, kNoVariable, kNoVariable};
  return {};
}

IndexRanges::IndexRanges(Operation *op)
    : leading(leadingVariablesOf(op)), body(&op->getRegion(0).front()) {
  for (Operation &inner : *body) // in order, so operands come first
    for (Value result : inner.getResults())
      sourcesOf(result);
}

Value IndexRanges::outsideOfSums(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto sum = dyn_cast<SumOp>(argument.getOwner()->getParentOp());
    if (!sum || argument.getArgNumber() == 0) // the index of the sum
      break;
    value = sum.getInputs()[argument.getArgNumber() - 1];
  }
  return value;
}

std::optional<PairForm> IndexRanges::formOf(Operation *op) {
  auto in = [&](unsigned n) { return sourcesOf(op->getOperand(n)).form; };
  if (isConversion(op))
    return in(0);
  return llvm::TypeSwitch<Operation *, std::optional<PairForm>>(op)
      .Case<arith::ConstantOp>([](auto constant) { return constantOf(constant); })
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return combine(in(0), in(1), 1); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return combine(in(0), in(1), -1); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return product(in(0), in(1)); })
      .Case<arith::NegFOp>([&](auto) { return combine(PairForm{}, in(0), -1); })
      .Default([](Operation *) { return std::nullopt; });
}

const IndexSources &IndexRanges::sourcesOf(Value value) {
  value = outsideOfSums(value);
  if (auto known = sources.find(value); known != sources.end())
    return known->second;
  IndexSources result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == body && argument.getArgNumber() < leading.size()) {
      const RegionVariable variable = leading[argument.getArgNumber()];
      result.code = variable;
      if (variable == kQuery || variable == kKey)
        result.form = PairForm{variable == kQuery ? 1.0 : 0.0, variable == kKey ? 1.0 : 0.0, 0};
    }
  } else if (Operation *op = value.getDefiningOp(); depth < kMaxDepth) {
    ++depth;
    for (Value operand : op->getOperands()) {
      const IndexSources &part = sourcesOf(operand);
      (isa<ReadOp>(op) ? result.data : result.code) |= part.code;
      result.data |= part.data;
    }
    if (isa<GlobalHeadOp>(op))
      result.code |= kHead;
    result.form = formOf(op);
    --depth;
  } else {
    return sources[Value()]; // too deep: no variables, no bounds
  }
  return sources[value] = result;
}

Interval IndexRanges::intervalOfArgument(BlockArgument argument) const {
  if (auto sum = dyn_cast<SumOp>(argument.getOwner()->getParentOp()))
    return {0, sum.getCount() ? std::max<double>(0, static_cast<double>(*sum.getCount() - 1))
                              : kLimit};
  const bool isIndex = argument.getType().isIndex();
  return isIndex ? Interval{0, kLimit} : Interval();
}

Interval IndexRanges::intervalOf(Value value, DifferenceRange range) {
  value = outsideOfSums(value);
  if (depth == kMaxDepth || ++steps > kMaxSteps)
    return {};
  if (const std::optional<PairForm> &form = sourcesOf(value).form)
    return intervalOfForm(*form, range);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return intervalOfArgument(argument);
  ++depth;
  Interval result = intervalOfOp(value.getDefiningOp(), range);
  --depth;
  return result;
}

Interval IndexRanges::intervalOfOp(Operation *op, DifferenceRange range) {
  auto in = [&](unsigned n) { return intervalOf(op->getOperand(n), range); };
  auto least = [&](auto) {
    const Interval a = in(0), b = in(1);
    return Interval{std::min(a.least, b.least), std::min(a.most, b.most)};
  };
  auto most = [&](auto) {
    const Interval a = in(0), b = in(1);
    return Interval{std::max(a.least, b.least), std::max(a.most, b.most)};
  };
  auto chosen = [&](arith::SelectOp select) {
    const DifferenceRange yes = refine(select.getCondition(), true, range);
    const DifferenceRange no = refine(select.getCondition(), false, range);
    if (yes.isEmpty() || no.isEmpty())
      return intervalOf(yes.isEmpty() ? select.getFalseValue() : select.getTrueValue(), range);
    return eitherOf(intervalOf(select.getTrueValue(), yes), intervalOf(select.getFalseValue(), no));
  };
  if (isConversion(op))
    return in(0);
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return sumOf(in(0), in(1)); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return sumOf(in(0), scaled(in(1), -1)); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return productOf(in(0), in(1)); })
      .Case<arith::NegFOp>([&](auto) { return scaled(in(0), -1); })
      .Case<arith::FloorDivSIOp>([&](auto) { return quotientOf(in(0), in(1)); })
      .Case<arith::MinSIOp, arith::MinimumFOp>(least)
      .Case<arith::MaxSIOp, arith::MaximumFOp>(most)
      .Case<arith::SelectOp>(chosen)
      .Case<math::AbsFOp>([&](auto) {
        const Interval x = in(0);
        const double far = std::max(std::abs(x.least), std::abs(x.most));
        return Interval{std::max({0.0, x.least, -x.most}), far};
      })
      .Case<math::FloorOp>([&](auto) {
        const Interval x = in(0);
        return Interval{std::floor(x.least), std::floor(x.most)};
      })
      .Case<arith::FPToSIOp>([&](auto) {
        const Interval x = in(0);
        return Interval{std::trunc(x.least), std::trunc(x.most)};
      })
      .Case<AxisSizeOp, HeadsTotalOp, GlobalHeadOp>([](auto) { return Interval{0, kLimit}; })
      .Default([](Operation *) { return Interval(); });
}

/// Refines by an integer comparison whose sides differ by a multiple of i - j.
DifferenceRange IndexRanges::refineComparison(arith::CmpIOp compare, bool isTrue,
                                              DifferenceRange range) {
  using P = arith::CmpIPredicate;
  const auto form = combine(sourcesOf(compare.getLhs()).form, sourcesOf(compare.getRhs()).form, -1);
  if (!form || (!form->isDifference() && !form->isConstant()))
    return range;
  P predicate = isTrue ? compare.getPredicate() : arith::invertPredicate(compare.getPredicate());
  // q (i - j) + c must be in this interval.
  Interval wanted;
  if (predicate == P::slt || predicate == P::sle || predicate == P::eq)
    wanted.most = predicate == P::slt ? -1 : 0;
  if (predicate == P::sgt || predicate == P::sge || predicate == P::eq)
    wanted.least = predicate == P::sgt ? 1 : 0;
  const double q = form->query, c = form->constant;
  if (form->isConstant())
    return c < wanted.least || c > wanted.most ? DifferenceRange{1, 0} : range;
  double least = (wanted.least - c) / q, most = (wanted.most - c) / q;
  if (q < 0)
    std::swap(least, most);
  DifferenceRange kept = {.exact = false};
  if (std::isfinite(least))
    kept.min = static_cast<int64_t>(std::ceil(least));
  if (std::isfinite(most))
    kept.max = static_cast<int64_t>(std::floor(most));
  return DifferenceRange::both(range, kept);
}

DifferenceRange IndexRanges::refine(Value condition, bool isTrue, DifferenceRange range) {
  Operation *op = outsideOfSums(condition).getDefiningOp();
  if (!op || depth == kMaxDepth || ++steps > kMaxSteps)
    return range;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getLhs().getType().isInteger(1) ? range
                                                   : refineComparison(compare, isTrue, range);
  // Both sides of a true `and` are true, and both of a false `or` are false.
  if (isTrue ? isa<arith::AndIOp>(op) : isa<arith::OrIOp>(op)) {
    ++depth;
    range = refine(op->getOperand(1), isTrue, refine(op->getOperand(0), isTrue, range));
    --depth;
  } else if (isa<arith::XOrIOp>(op) && matchPattern(op->getOperand(1), m_One())) {
    ++depth;
    range = refine(op->getOperand(0), !isTrue, range);
    --depth;
  }
  return range;
}

} // namespace mlir::pe
