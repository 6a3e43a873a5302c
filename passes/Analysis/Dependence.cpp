//===- Dependence.cpp - dependence of a scalar on the pair (i, j) ---------===//

#include "passes/Analysis/Dependence.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace mlir::pe {

using Form = std::optional<AffineForm>;

//===----------------------------------------------------------------------===//
// Affine forms
//===----------------------------------------------------------------------===//

/// Returns a + factor * b.
static Form combine(const Form &a, const Form &b, double factor) {
  if (!a || !b)
    return std::nullopt;
  return AffineForm{a->query + factor * b->query, a->key + factor * b->key,
                    a->constant + factor * b->constant};
}

static Form scaled(const Form &form, double factor) { return combine(AffineForm{}, form, factor); }

/// Returns the product if one side is a constant.
static Form product(const Form &a, const Form &b) {
  if (!a || !b)
    return std::nullopt;
  if (a->isConstant())
    return scaled(b, a->constant);
  if (b->isConstant())
    return scaled(a, b->constant);
  return std::nullopt;
}

static Form quotient(const Form &a, const Form &b) {
  if (!a || !b || !b->isConstant() || b->constant == 0)
    return std::nullopt;
  return scaled(a, 1 / b->constant);
}

/// Positions have fewer than 32 bits, so integers of at least that width can hold them.
static bool holdsPositions(Type type) {
  return !type.isInteger() || type.getIntOrFloatBitWidth() >= 32;
}

static Form constantOf(arith::ConstantOp op) {
  if (!holdsPositions(op.getType()))
    return std::nullopt;
  if (auto value = dyn_cast<FloatAttr>(op.getValue()))
    return AffineForm{0, 0, value.getValueAsDouble()};
  if (auto value = dyn_cast<IntegerAttr>(op.getValue()))
    if (value.getValue().getSignificantBits() <= 64)
      return AffineForm{0, 0, double(value.getValue().getSExtValue())};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Dependence
//===----------------------------------------------------------------------===//

Dependence::Dependence(const AffineForm &form) : form(form) {
  if (form.isDifference())
    sources = Difference;
  else
    sources = (form.query != 0 ? Query : 0) | (form.key != 0 ? Key : 0);
}

std::string Dependence::describe() const {
  SmallVector<StringRef> words;
  const std::pair<Source, StringRef> names[] = {
      {Batch, "batch"}, {Head, "head"}, {Query, "i"}, {Key, "j"}, {Difference, "i - j"}};
  for (auto [source, name] : names)
    if (has(source))
      words.push_back(name);
  return words.empty() ? "nothing" : llvm::join(words, ", ");
}

//===----------------------------------------------------------------------===//
// RegionDependence
//===----------------------------------------------------------------------===//

RegionDependence::RegionDependence(Region &region, DifferenceRange range) : range(range) {
  Block &block = region.front();
  const Dependence leading[] = {Dependence(Dependence::Batch), Dependence(Dependence::Head),
                                Dependence(AffineForm{1, 0, 0}), Dependence(AffineForm{0, 1, 0})};
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    values[argument] = number < std::size(leading) ? leading[number] : Dependence();
  }
  for (Operation &op : block) {
    Dependence result = transfer(&op);
    for (Value value : op.getResults())
      values[value] = result;
  }
}

/// Returns true if an integer may wrap around at its width, which invalidates the form. Positions
/// are below 2^30.
static bool mayWrap(const AffineForm &form, Type type) {
  if (!type.isIntOrIndex())
    return false;
  const int bits = type.isIndex() ? 64 : static_cast<int>(type.getIntOrFloatBitWidth());
  const double most = (std::abs(form.query) + std::abs(form.key)) * ((1 << 30) - 1);
  return most + std::abs(form.constant) >= std::ldexp(1.0, bits - 1);
}

Dependence RegionDependence::transfer(Operation *op) const {
  if (Form form = affineOf(op); form && !mayWrap(*form, op->getResult(0).getType()))
    return Dependence(*form);
  if (Form difference = comparedDifference(op); difference && difference->isDifference())
    return Dependence(Dependence::Difference);
  Dependence joined(isa<GlobalHeadOp>(op) ? Dependence::Head : 0);
  for (Value operand : op->getOperands())
    joined.join(of(operand));
  return joined;
}

/// Returns the difference of the two sides of a signed or float comparison, which decides the
/// result.
Form RegionDependence::comparedDifference(Operation *op) const {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    P predicate = compare.getPredicate();
    if (predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge)
      return std::nullopt;
  } else if (!isa<arith::CmpFOp>(op)) {
    return std::nullopt;
  }
  return combine(affineOf(op->getOperand(0)), affineOf(op->getOperand(1)), -1);
}

/// Returns true if the form is never negative on the range of differences. Query positions count as
/// nonnegative, because rows before the first position attend to nothing; key positions may be
/// negative.
bool RegionDependence::isNonNegative(const AffineForm &form) const {
  if (form.constant < 0)
    return false;
  if (!form.isDifference())
    return form.query >= 0 && form.key == 0;
  return form.query > 0 ? range.min >= 0 : range.max <= 0;
}

Form RegionDependence::affineOf(Operation *op) const {
  auto in = [&](unsigned index) { return affineOf(op->getOperand(index)); };
  auto kept = [&](auto) { return holdsPositions(op->getResult(0).getType()) ? in(0) : Form(); };
  auto keptIfNonNegative = [&](auto) {
    Form form = in(0);
    return form && isNonNegative(*form) ? form : Form();
  };
  // max(x, c) is x if x >= 0 >= c.
  auto maximum = [&](auto) -> Form {
    Form a = in(0), b = in(1);
    if (!a || !b)
      return std::nullopt;
    if (isNonNegative(*a) && b->isConstant() && b->constant <= 0)
      return a;
    return isNonNegative(*b) && a->isConstant() && a->constant <= 0 ? b : Form();
  };
  return llvm::TypeSwitch<Operation *, Form>(op)
      .Case<arith::ConstantOp>([](arith::ConstantOp constant) { return constantOf(constant); })
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return combine(in(0), in(1), 1); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return combine(in(0), in(1), -1); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return product(in(0), in(1)); })
      .Case<math::FmaOp>([&](auto) { return combine(in(2), product(in(0), in(1)), 1); })
      .Case<arith::DivFOp>([&](auto) { return quotient(in(0), in(1)); })
      .Case<arith::NegFOp>([&](auto) { return scaled(in(0), -1); })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, arith::SIToFPOp, arith::ExtFOp>(
          kept)
      .Case<arith::IndexCastUIOp, arith::ExtUIOp, arith::UIToFPOp, math::AbsFOp, math::AbsIOp>(
          keptIfNonNegative)
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(maximum)
      .Default([](Operation *) { return Form(); });
}

PairPoint distancePoint(OpBuilder &builder, Location loc, Value batch, Value head,
                        Value difference) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value negated = arith::SubIOp::create(builder, loc, zero, difference);
  return {batch, head, arith::MaxSIOp::create(builder, loc, difference, zero),
          arith::MaxSIOp::create(builder, loc, negated, zero)};
}

} // namespace mlir::pe
