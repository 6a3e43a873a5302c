//===- ScalarRange.cpp - ranges of scalar code over a block of pairs ------===//

#include "passes/Analysis/ScalarRange.h"

#include "passes/Analysis/Slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::pe {
namespace {

using arith::CmpIPredicate;
using Ranges = llvm::DenseMap<Value, std::optional<ScalarRange>>;

bool isBoolean(Value value) { return value.getType().isInteger(1); }

/// Returns the positive constant divisor of a division.
std::optional<int64_t> divisorOf(Operation *op) {
  APInt number;
  if (!isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&number)) || !number.isStrictlyPositive())
    return std::nullopt;
  return number.getSExtValue();
}

bool hasRule(Operation *op) {
  if (!op || op->getNumRegions() || op->getNumResults() != 1)
    return false;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return !isBoolean(compare.getLhs()) && compare.getPredicate() <= CmpIPredicate::sge;
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return isBoolean(op->getResult(0));
  if (isa<arith::SelectOp>(op))
    return op->getResult(0).getType().isIntOrIndex();
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return !isBoolean(op->getOperand(0));
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MaxSIOp, arith::MinSIOp>(op)
             ? !isBoolean(op->getResult(0))
             : divisorOf(op).has_value();
}

bool isLeaf(Value value, const RegionDependence &dependence) {
  const Dependence &known = dependence.of(value);
  return !known.has(Dependence::Difference) &&
         !(known.has(Dependence::Query) && known.has(Dependence::Key));
}

/// Returns the ops with rules between `root` and its leaves; the leaves are added to `leaves`.
llvm::DenseSet<Operation *> opsAboveLeaves(Value root, const RegionDependence &dependence,
                                           llvm::SetVector<Value> &leaves) {
  llvm::DenseSet<Operation *> ops;
  SmallVector<Value> pending = {root};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (isLeaf(value, dependence)) {
      leaves.insert(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (hasRule(op) && ops.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return ops;
}

/// One rule per operation.
class RangeRules {
public:
  RangeRules(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  std::optional<ScalarRange> apply(Operation *op, ArrayRef<std::optional<ScalarRange>> operands);
  ScalarRange anything() { return {truth(false), truth(true)}; }

private:
  template <typename Op> Value emit(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  Value least(Value a, Value b) { return emit<arith::MinSIOp>(a, b); }
  Value most(Value a, Value b) { return emit<arith::MaxSIOp>(a, b); }
  Value both(Value a, Value b) { return emit<arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return emit<arith::OrIOp>(a, b); }
  Value truth(bool value) {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
  }
  Value isNot(Value a) { return emit<arith::XOrIOp>(a, truth(true)); }
  Value is(CmpIPredicate predicate, Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
  }
  Value pick(Value condition, Value a, Value b) {
    return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
  }

  ScalarRange compare(CmpIPredicate predicate, const ScalarRange &a, const ScalarRange &b);
  ScalarRange logic(Operation *op, const ScalarRange &a, const ScalarRange &b);
  ScalarRange select(const ScalarRange &condition, const ScalarRange &a, const ScalarRange &b,
                     bool isBoolean);
  ScalarRange number(Operation *op, ArrayRef<std::optional<ScalarRange>> operands);

  OpBuilder &builder;
  Location loc;
};

ScalarRange RangeRules::compare(CmpIPredicate predicate, const ScalarRange &a,
                                const ScalarRange &b) {
  switch (predicate) {
  case CmpIPredicate::slt:
  case CmpIPredicate::sle:
    return {is(predicate, a.most, b.least), is(predicate, a.least, b.most)};
  case CmpIPredicate::sgt:
    return compare(CmpIPredicate::slt, b, a);
  case CmpIPredicate::sge:
    return compare(CmpIPredicate::sle, b, a);
  default:
    break;
  }
  // isSame: both ranges consist of the same single value. isShared: the ranges intersect.
  Value isSame =
      both(is(CmpIPredicate::eq, a.least, b.most), is(CmpIPredicate::eq, a.most, b.least));
  Value isShared =
      both(is(CmpIPredicate::sle, a.least, b.most), is(CmpIPredicate::sle, b.least, a.most));
  if (predicate == CmpIPredicate::eq)
    return {isSame, isShared};
  return {isNot(isShared), isNot(isSame)};
}

ScalarRange RangeRules::logic(Operation *op, const ScalarRange &a, const ScalarRange &b) {
  if (isa<arith::AndIOp>(op))
    return {both(a.least, b.least), both(a.most, b.most)};
  if (isa<arith::OrIOp>(op))
    return {either(a.least, b.least), either(a.most, b.most)};
  // An exclusive or is known only if both operands are.
  Value isOpen = either(emit<arith::XOrIOp>(a.least, a.most), emit<arith::XOrIOp>(b.least, b.most));
  Value differs = emit<arith::XOrIOp>(a.least, b.least);
  return {both(isNot(isOpen), differs), either(isOpen, differs)};
}

ScalarRange RangeRules::select(const ScalarRange &condition, const ScalarRange &a,
                               const ScalarRange &b, bool isBoolean) {
  Value low = isBoolean ? both(a.least, b.least) : least(a.least, b.least);
  Value high = isBoolean ? either(a.most, b.most) : most(a.most, b.most);
  return {pick(condition.least, a.least, pick(condition.most, low, b.least)),
          pick(condition.least, a.most, pick(condition.most, high, b.most)),
          std::max(a.bits, b.bits)};
}

/// Emits the range of integer arithmetic that does not overflow.
ScalarRange RangeRules::number(Operation *op, ArrayRef<std::optional<ScalarRange>> operands) {
  const ScalarRange &a = *operands[0];
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return a;
  const ScalarRange &b = *operands[1];
  const unsigned bits = std::max(a.bits, b.bits);
  if (divisorOf(op)) { // monotonic
    auto divide = [&](Value x) {
      return isa<arith::DivSIOp>(op)        ? emit<arith::DivSIOp>(x, b.least)
             : isa<arith::FloorDivSIOp>(op) ? emit<arith::FloorDivSIOp>(x, b.least)
                                            : emit<arith::CeilDivSIOp>(x, b.least);
    };
    return {divide(a.least), divide(a.most), a.bits};
  }
  if (isa<arith::AddIOp>(op))
    return {emit<arith::AddIOp>(a.least, b.least), emit<arith::AddIOp>(a.most, b.most), bits + 1};
  if (isa<arith::SubIOp>(op))
    return {emit<arith::SubIOp>(a.least, b.most), emit<arith::SubIOp>(a.most, b.least), bits + 1};
  if (isa<arith::MaxSIOp>(op))
    return {most(a.least, b.least), most(a.most, b.most), bits};
  if (isa<arith::MinSIOp>(op))
    return {least(a.least, b.least), least(a.most, b.most), bits};
  Value low, high;
  for (Value x : {a.least, a.most})
    for (Value y : {b.least, b.most}) {
      Value product = emit<arith::MulIOp>(x, y);
      low = low ? least(low, product) : product;
      high = high ? most(high, product) : product;
    }
  return {low, high, a.bits + b.bits};
}

/// Returns the number of bits of a type without the sign.
unsigned roomOf(Type type) { return type.isIndex() ? 62 : type.getIntOrFloatBitWidth() - 1; }

std::optional<ScalarRange> RangeRules::apply(Operation *op,
                                             ArrayRef<std::optional<ScalarRange>> operands) {
  const bool returnsBoolean = isBoolean(op->getResult(0));
  if (llvm::any_of(operands, [](auto &range) { return !range; }))
    return returnsBoolean ? std::optional(anything()) : std::nullopt;
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return compare(comparison.getPredicate(), *operands[0], *operands[1]);
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return logic(op, *operands[0], *operands[1]);
  if (isa<arith::SelectOp>(op))
    return select(*operands[0], *operands[1], *operands[2], returnsBoolean);
  // Decide this before emission, because code that could overflow must not be emitted.
  const unsigned bits = isa<arith::MulIOp>(op) ? operands[0]->bits + operands[1]->bits
                        : isa<arith::AddIOp, arith::SubIOp>(op)
                            ? std::max(operands[0]->bits, operands[1]->bits) + 1
                            : operands[0]->bits;
  if (bits > std::min(62u, roomOf(op->getResult(0).getType())))
    return std::nullopt;
  return number(op, operands);
}

} // namespace

SmallVector<Value> rangeLeavesOf(Value root, const RegionDependence &dependence) {
  llvm::SetVector<Value> leaves;
  opsAboveLeaves(root, dependence, leaves);
  return leaves.takeVector();
}

bool knowsBlocks(Value root, const RegionDependence &dependence) {
  return llvm::any_of(rangeLeavesOf(root, dependence), [&](Value leaf) {
    const Dependence &known = dependence.of(leaf);
    return known.has(Dependence::Query) || known.has(Dependence::Key);
  });
}

std::optional<ScalarRange> emitRange(Value root, const RegionDependence &dependence,
                                     OpBuilder &builder, Location loc,
                                     llvm::function_ref<ScalarRange(Value)> rangeOf) {
  llvm::SetVector<Value> leaves;
  llvm::DenseSet<Operation *> ops = opsAboveLeaves(root, dependence, leaves);
  if (leaves.empty())
    return std::nullopt;
  RangeRules rules(builder, loc);
  Ranges ranges;
  for (Value leaf : leaves)
    ranges[leaf] = rangeOf(leaf);
  auto isEnd = [&](Value value) { return leaves.contains(value); };
  for (Operation *op : collectSlice(root, isEnd)) {
    if (!ops.contains(op))
      continue;
    SmallVector<std::optional<ScalarRange>> operands;
    for (Value operand : op->getOperands()) {
      auto known = ranges.find(operand);
      operands.push_back(known != ranges.end() ? known->second
                         : isBoolean(operand)  ? std::optional(rules.anything())
                                               : std::nullopt);
    }
    std::optional<ScalarRange> range = rules.apply(op, operands);
    ranges[op->getResult(0)] = range;
  }
  return ranges.lookup(root);
}

} // namespace mlir::pe
