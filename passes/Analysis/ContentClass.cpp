//===- ContentClass.cpp - classes of content terms ------------------------===//
#include "passes/Analysis/ContentClass.h"

#include "passes/Analysis/Dependence.h"
#include "passes/Analysis/Slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/DebugLog.h"

#include <cmath>

#define DEBUG_TYPE "pe-content-class"

namespace mlir::pe {

//===----------------------------------------------------------------------===//
// Near
//===----------------------------------------------------------------------===//

namespace {

/// The form of a value at all differences beyond a bound.
struct Tail {
  enum Kind { Unknown, Constant, Line } kind = Unknown;
  /// The tail includes this bound.
  int64_t from = 0;
  /// Line: slope * (i - j) + offset. A constant with a known value has slope 0.
  double slope = 0, offset = 0;
  bool isNumber = false;
};

/// Computes the tails of all values of a region, towards negative or positive differences.
class TailFinder {
public:
  TailFinder(Block &block, int direction) : direction(direction), dependence(*block.getParent()) {
    for (Operation &op : block)
      for (Value result : op.getResults())
        tails[result] = transfer(&op);
  }
  Tail of(Value value) const {
    const Dependence &on = dependence.of(value);
    if (on.affine() && on.affine()->isConstant())
      return {Tail::Constant, -kFar * direction, 0, on.affine()->constant, true};
    if (on.isScalar())
      return {Tail::Constant, -kFar * direction, 0, 0, false};
    if (on.affine() && on.affine()->isDifference())
      return {Tail::Line, -kFar * direction, on.affine()->query, on.affine()->constant, true};
    return tails.lookup(value);
  }

  /// Farther than any difference of positions.
  static constexpr int64_t kFar = int64_t(1) << 32;

private:
  /// Returns the bound that is farther out.
  int64_t farther(int64_t a, int64_t b) const {
    return direction > 0 ? std::max(a, b) : std::min(a, b);
  }
  Tail extremum(const Tail &a, const Tail &b, bool isMaximum) const;
  Tail transfer(Operation *op) const;

  int direction;
  RegionDependence dependence;
  llvm::DenseMap<Value, Tail> tails;
};

} // namespace

/// Returns the maximum or minimum of a line and a constant beyond their intersection.
Tail TailFinder::extremum(const Tail &a, const Tail &b, bool isMaximum) const {
  const int64_t from = farther(a.from, b.from);
  if (!a.isNumber || !b.isNumber)
    return a.kind == Tail::Constant && b.kind == Tail::Constant ? Tail{Tail::Constant, from}
                                                                : Tail();
  const double slope = a.slope - b.slope, offset = a.offset - b.offset;
  if (slope == 0) {
    Tail taken = (offset > 0) == isMaximum ? a : b;
    taken.from = from;
    return taken;
  }
  const double meet = -offset / slope;
  if (!(std::abs(meet) < double(kFar)))
    return {};
  // Far out in this direction, a exceeds b if it rises faster.
  Tail taken = (slope * direction > 0) == isMaximum ? a : b;
  const double rounded = direction > 0 ? std::ceil(meet) : std::floor(meet);
  taken.from = farther(from, static_cast<int64_t>(rounded));
  return taken;
}

Tail TailFinder::transfer(Operation *op) const {
  if (isa<arith::MaxSIOp, arith::MaximumFOp, arith::MaxNumFOp>(op))
    return extremum(of(op->getOperand(0)), of(op->getOperand(1)), /*isMaximum=*/true);
  if (isa<arith::MinSIOp, arith::MinimumFOp, arith::MinNumFOp>(op))
    return extremum(of(op->getOperand(0)), of(op->getOperand(1)), /*isMaximum=*/false);
  if (isa<arith::IndexCastOp, arith::SIToFPOp, arith::ExtFOp>(op))
    return of(op->getOperand(0));
  Tail joined{Tail::Constant, -kFar * direction};
  for (Value operand : op->getOperands()) {
    if (isa<ShapedType>(operand.getType()))
      continue;
    const Tail tail = of(operand);
    if (tail.kind != Tail::Constant)
      return {};
    joined.from = farther(joined.from, tail.from);
  }
  return joined;
}

ConstantTails findConstantTails(Value value, Block &region) {
  ConstantTails result;
  const Tail low = TailFinder(region, -1).of(value), high = TailFinder(region, 1).of(value);
  if (low.kind == Tail::Constant)
    result.low = low.from;
  if (high.kind == Tail::Constant)
    result.high = high.from;
  return result;
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

static bool isTrigonometric(Operation *op) { return isa_and_nonnull<math::SinOp, math::CosOp>(op); }

/// Returns true if the value is a sum of sines and cosines with factors independent of i - j.
static bool isLinearInAngles(Value value, const RegionDependence &dependence) {
  Operation *op = value.getDefiningOp();
  auto isLinear = [&](unsigned operand) {
    return isLinearInAngles(op->getOperand(operand), dependence);
  };
  auto isFree = [&](unsigned operand) {
    return dependence.of(op->getOperand(operand)).isWithin(0);
  };
  if (isTrigonometric(op))
    return true;
  if (isa_and_nonnull<arith::SelectOp>(op))
    return isFree(0) && isLinear(1) && isLinear(2);
  if (isa_and_nonnull<arith::NegFOp>(op))
    return isLinear(0);
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return isLinear(0) && isLinear(1);
  if (isa_and_nonnull<arith::MulFOp>(op))
    return (isFree(0) && isLinear(1)) || (isLinear(0) && isFree(1));
  return false;
}

/// Returns true if the value is the same for d = 2n and d = 2n + 1, because it uses d only through
/// d // 2.
static bool isOfPairs(Value value, Value dim) {
  if (value == dim)
    return false;
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  APInt divisor;
  if (isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) && divisor == 2)
    return true;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isOfPairs(operand, dim); });
}

/// Returns the factor w of an angle (i - j) w, or null if it has another form.
static Value frequencyOf(Value angle, const RegionDependence &dependence) {
  auto product = angle.getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  for (auto [difference, factor] : {std::pair(product.getLhs(), product.getRhs()),
                                    std::pair(product.getRhs(), product.getLhs())}) {
    const std::optional<AffineForm> &form = dependence.of(difference).affine();
    if (form && form->query == 1 && form->key == -1 && form->constant == 0 &&
        dependence.of(factor).isWithin(0))
      return factor;
  }
  return {};
}

/// Returns the common angle of all sines and cosines, or null if the term has another form.
static Value findAngle(ContentFnOp op, Value root) {
  Block &body = op.getBody().front();
  const RegionDependence dependence(op.getBody());
  if (!op.getCaptures().empty() || !isLinearInAngles(root, dependence))
    return {};
  Value angle, frequency;
  for (Operation *inner : collectSlice(root)) {
    if (!isTrigonometric(inner) || dependence.of(inner->getResult(0)).isWithin(0))
      continue;
    Value found = frequencyOf(inner->getOperand(0), dependence);
    if (!found || (frequency && found != frequency))
      return {};
    angle = inner->getOperand(0);
    frequency = found;
  }
  return frequency && isOfPairs(frequency, body.getArgument(4)) ? angle : Value();
}

//===----------------------------------------------------------------------===//
// The class
//===----------------------------------------------------------------------===//

static ContentStructure findStructure(ContentFnOp op, DifferenceRange range) {
  Block &body = op.getBody().front();
  Value root = cast<YieldOp>(body.getTerminator()).getValues()[0];
  auto make = [&](ContentClass cls, const Twine &reason, int64_t low = 0, int64_t high = -1) {
    return ContentAttr::get(op.getContext(), cls, low, high, reason.str());
  };
  ConstantTails tails = findConstantTails(root, body);
  std::optional<int64_t> low = tails.low, high = tails.high;
  if (std::optional<int64_t> extent = op.getExtent()) // 0 from there on
    low = -*extent, high = *extent;
  if (range.min != DifferenceRange::kUnboundedMin)
    low = low ? std::max(*low, range.min) : range.min;
  if (range.max != DifferenceRange::kUnboundedMax)
    high = high ? std::min(*high, range.max) : range.max;
  if (low && high && *low >= *high) // the same vector at all distances
    low = high = range.min != DifferenceRange::kUnboundedMin   ? range.min
                 : range.max != DifferenceRange::kUnboundedMax ? range.max
                                                               : 0;
  if (low && high && *high - *low < kMostNearVectors)
    return {make(ContentClass::Near,
                 "has " + Twine(*high - *low + 1) +
                     " different vectors: it is constant at distances below " + Twine(*low) +
                     " and above " + Twine(*high),
                 *low, *high),
            Value()};
  if (Value angle = findAngle(op, root))
    return {make(ContentClass::Angles, "consists of sines and cosines of i - j times a frequency "
                                       "that each pair of elements shares"),
            angle};
  return {make(ContentClass::Panel, "has a different vector at every distance"), Value()};
}

ContentStructure classifyContent(ContentFnOp op, DifferenceRange range) {
  ContentStructure result = findStructure(op, range);
  LDBG() << op.getLoc() << ": " << result.stored;
  return result;
}

} // namespace mlir::pe
