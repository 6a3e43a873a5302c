//===- PEMaskFn.cpp - Masks written as scalar code ------------------------===//
//
// Verifies constraints mask_fn-C1 to mask_fn-C7 of docs/spec.md (PERegions.h), and derives facts
// about entire rows from a region. A condition that compares i - j with a constant keeps a range of
// differences. One that compares j with a value that does not depend on j keeps an interval of
// keys.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEKeyHull.h"
#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PERegions.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::pe;
using arith::CmpIPredicate;

constexpr RegionForm kForm = {"mask_fn", RegionForm::Point::Pair, /*isMask=*/true};

ParseResult MaskFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(MaskType::get(parser.getContext()));
  return parseScalarRegion(parser, result, kForm);
}

void MaskFnOp::print(OpAsmPrinter &printer) { printScalarRegion(printer, *this); }

LogicalResult MaskFnOp::verify() {
  for (Value capture : getCaptures())
    if (isa<FloatType>(getElementTypeOrSelf(capture.getType()))) // C7
      return emitOpError("expected captures of integers, which have no gradients, found ")
             << capture.getType()
             << "; a condition on real numbers is a bias, select(condition, 0, -inf) in pe.bias_fn "
                "(mask_fn-C7)";
  return verifyRegionArguments(*this, kForm);
}
LogicalResult MaskFnOp::verifyRegions() { return verifyRegionCode(*this, kForm); }

Value MaskFnOp::buildScalar(OpBuilder &builder, Location, const PairPoint &point,
                            ValueRange operands) {
  return cloneRegionCode(builder, getBody(), {point.batch, point.head, point.query, point.key},
                         operands);
}

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

namespace {

/// Positions and constants up to this bound can be added without overflow.
constexpr int64_t kFar = int64_t(1) << 40;
/// The analysis stops at this depth.
constexpr int kMaxDepth = 64;

/// The leading arguments of the region that a value depends on. kOpaque marks values that cannot be
/// evaluated outside of the region.
enum Dependence : unsigned { kBatch = 1, kHead = 2, kQuery = 4, kKey = 8, kOpaque = 16 };

/// query * i + key * j + constant + the sum of terms, which do not depend on j.
struct LinearForm {
  int64_t query = 0, key = 0, constant = 0;
  SmallVector<std::pair<Value, bool>> terms; ///< true if the term is subtracted
};

/// Analyzes the conditions in the region of a mask.
class RegionReader {
public:
  explicit RegionReader(Block &block);

  /// Returns lhs - rhs; nullopt if it is not linear.
  std::optional<LinearForm> differenceOf(Value lhs, Value rhs) const;
  /// Returns the range of a comparison of i - j with a constant; nullopt for other comparisons.
  std::optional<DifferenceRange> rangeOf(CmpIPredicate predicate, Value lhs, Value rhs) const;
  DifferenceRange rangeOf(Value condition, int depth = 0) const;
  /// Returns true if the value depends on any of `any`, a combination of Dependence.
  bool dependsOn(Value value, unsigned any) const { return dependences.lookup(value) & any; }

private:
  bool add(LinearForm &form, Value value, bool negative, int depth) const;

  Block &block;
  llvm::DenseMap<Value, unsigned> dependences; // combinations of Dependence
};

RegionReader::RegionReader(Block &block) : block(block) {
  for (unsigned position : {0, 1, 2, 3})
    dependences[block.getArgument(position)] = 1u << position;
  for (Operation &op : block) { // operands are defined before their uses
    const bool isPlain =
        op.getNumRegions() == 0 && (isa<ReadOp>(op) || op.getDialect()->getNamespace() != "pe");
    unsigned all = isPlain ? 0 : kOpaque;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        all |= dependences.lookup(operand);
    });
    for (Value result : op.getResults())
      dependences[result] = all;
  }
}

bool RegionReader::add(LinearForm &form, Value value, bool negative, int depth) const {
  const int64_t sign = negative ? -1 : 1;
  APInt number;
  if (value == block.getArgument(2))
    form.query += sign;
  else if (value == block.getArgument(3))
    form.key += sign;
  else if (matchPattern(value, m_ConstantInt(&number)) && number.abs().slt(kFar))
    form.constant += sign * number.getSExtValue();
  else if (auto sum = value.getDefiningOp<arith::AddIOp>(); sum && depth < kMaxDepth)
    return add(form, sum.getLhs(), negative, depth + 1) &&
           add(form, sum.getRhs(), negative, depth + 1);
  else if (auto difference = value.getDefiningOp<arith::SubIOp>(); difference && depth < kMaxDepth)
    return add(form, difference.getLhs(), negative, depth + 1) &&
           add(form, difference.getRhs(), !negative, depth + 1);
  else if (!dependsOn(value, kKey))
    form.terms.push_back({value, negative});
  else
    return false;
  return std::abs(form.constant) < kFar;
}

std::optional<LinearForm> RegionReader::differenceOf(Value lhs, Value rhs) const {
  LinearForm form;
  if (!lhs.getType().isIndex() || !add(form, lhs, false, 0) || !add(form, rhs, true, 0))
    return std::nullopt;
  return form;
}

//===----------------------------------------------------------------------===//
// Ranges of i - j
//===----------------------------------------------------------------------===//

/// Returns the signed comparison with swapped sides.
CmpIPredicate swapped(CmpIPredicate predicate) {
  switch (predicate) {
  case CmpIPredicate::slt:
    return CmpIPredicate::sgt;
  case CmpIPredicate::sle:
    return CmpIPredicate::sge;
  case CmpIPredicate::sgt:
    return CmpIPredicate::slt;
  case CmpIPredicate::sge:
    return CmpIPredicate::sle;
  default:
    return predicate;
  }
}

/// Returns the range of the integers x with x PREDICATE 0; nullopt for predicates other than ==, <,
/// <=, > and >=.
std::optional<DifferenceRange> numbersOf(CmpIPredicate predicate) {
  DifferenceRange all;
  switch (predicate) {
  case CmpIPredicate::eq:
    return DifferenceRange{0, 0};
  case CmpIPredicate::slt:
    return DifferenceRange{all.min, -1};
  case CmpIPredicate::sle:
    return DifferenceRange{all.min, 0};
  case CmpIPredicate::sgt:
    return DifferenceRange{1, all.max};
  case CmpIPredicate::sge:
    return DifferenceRange{0, all.max};
  default:
    return std::nullopt;
  }
}

std::optional<DifferenceRange> RegionReader::rangeOf(CmpIPredicate predicate, Value lhs,
                                                     Value rhs) const {
  // max(a, b) <= c, which is how |i - j| is expressed, means a <= c and b <= c.
  auto larger = lhs.getDefiningOp<arith::MaxSIOp>();
  if (larger && (predicate == CmpIPredicate::slt || predicate == CmpIPredicate::sle)) {
    std::optional<DifferenceRange> a = rangeOf(predicate, larger.getLhs(), rhs);
    std::optional<DifferenceRange> b = rangeOf(predicate, larger.getRhs(), rhs);
    return a && b ? std::optional(DifferenceRange::both(*a, *b)) : std::nullopt;
  }
  std::optional<LinearForm> form = differenceOf(lhs, rhs);
  if (!form || !form->terms.empty() || form->query != -form->key || std::abs(form->key) != 1)
    return std::nullopt;
  // +-(i - j) + constant PREDICATE 0
  std::optional<DifferenceRange> range =
      numbersOf(form->query == 1 ? predicate : swapped(predicate));
  if (!range)
    return std::nullopt;
  const int64_t shift = -form->query * form->constant;
  if (range->min != DifferenceRange::kUnboundedMin)
    range->min += shift;
  if (range->max != DifferenceRange::kUnboundedMax)
    range->max += shift;
  return range;
}

DifferenceRange RegionReader::rangeOf(Value condition, int depth) const {
  constexpr DifferenceRange unknown = {.exact = false};
  if (depth > kMaxDepth)
    return unknown;
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return DifferenceRange::both(rangeOf(both.getLhs(), depth + 1),
                                 rangeOf(both.getRhs(), depth + 1));
  if (auto either = condition.getDefiningOp<arith::OrIOp>())
    return DifferenceRange::either(rangeOf(either.getLhs(), depth + 1),
                                   rangeOf(either.getRhs(), depth + 1));
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  std::optional<DifferenceRange> range =
      compare ? rangeOf(compare.getPredicate(), compare.getLhs(), compare.getRhs()) : std::nullopt;
  return range.value_or(unknown);
}

//===----------------------------------------------------------------------===//
// Intervals of keys
//===----------------------------------------------------------------------===//

/// Emits the interval of keys that a condition keeps for one row.
class IntervalBuilder {
public:
  using ReadFn = llvm::function_ref<Value(Value tensor, ValueRange indices)>;

  IntervalBuilder(MaskFnOp op, OpBuilder &builder, const PairPoint &row, ReadFn read)
      : op(op), block(op.getBody().front()), reader(block), builder(builder), row(row), read(read) {
    mapping.map(block.getArgument(0), row.batch);
    mapping.map(block.getArgument(1), row.head);
    mapping.map(block.getArgument(2), row.query);
  }

  std::optional<KeyInterval> build(Value condition, int depth = 0);
  /// Emits an interval that contains all keys that the condition keeps (PEKeyHull.h).
  std::optional<KeyInterval> buildHull(Value condition, int depth = 0);

private:
  std::optional<KeyInterval> buildCompare(arith::CmpIOp compare);
  std::optional<KeyInterval> buildOfRow(Value condition);
  Value emit(Value value);
  Value number(int64_t value) {
    return arith::ConstantIndexOp::create(builder, op.getLoc(), value);
  }
  template <typename Op> Value join(Value a, Value b) {
    return !a ? b : !b ? a : Value(Op::create(builder, op.getLoc(), a, b));
  }

  MaskFnOp op;
  Block &block;
  RegionReader reader;
  OpBuilder &builder;
  PairPoint row;
  ReadFn read;
  IRMapping mapping;
};

/// Emits `value`, which does not depend on j, for the row.
Value IntervalBuilder::emit(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  llvm::SetVector<Operation *> needed;
  SmallVector<Operation *> pending = {value.getDefiningOp()};
  while (!pending.empty()) {
    Operation *next = pending.pop_back_val();
    if (!next || mapping.contains(next->getResult(0)) || !needed.insert(next))
      continue;
    for (Value operand : next->getOperands())
      pending.push_back(operand.getDefiningOp());
  }
  for (Operation &each : block) {
    if (!needed.contains(&each))
      continue;
    auto element = dyn_cast<ReadOp>(each);
    if (!element) {
      builder.clone(each, mapping);
      continue;
    }
    auto tensor = cast<BlockArgument>(element.getSource());
    SmallVector<Value> indices = llvm::map_to_vector(
        element.getIndices(), [&](Value index) { return mapping.lookup(index); });
    mapping.map(element.getResult(), read(op.getCaptures()[tensor.getArgNumber() - 4], indices));
  }
  return mapping.lookup(value);
}

/// Emits the interval of a condition of the form key * j + rest PREDICATE 0.
std::optional<KeyInterval> IntervalBuilder::buildCompare(arith::CmpIOp compare) {
  std::optional<LinearForm> form = reader.differenceOf(compare.getLhs(), compare.getRhs());
  if (!form || std::abs(form->key) != 1 ||
      llvm::any_of(form->terms, [&](auto &term) { return reader.dependsOn(term.first, kOpaque); }))
    return std::nullopt;
  CmpIPredicate predicate = compare.getPredicate();
  std::optional<DifferenceRange> numbers =
      numbersOf(form->key == 1 ? predicate : swapped(predicate));
  if (!numbers)
    return std::nullopt;
  // j = x - key * rest for the numbers x
  Value place = number(-form->key * form->constant);
  auto addTo = [&](Value value, bool negative) {
    place = negative ? arith::SubIOp::create(builder, op.getLoc(), place, value).getResult()
                     : arith::AddIOp::create(builder, op.getLoc(), place, value).getResult();
  };
  if (form->query)
    for (int64_t times = std::abs(form->query); times > 0; --times)
      addTo(row.query, form->query * form->key > 0);
  for (auto [value, isSubtracted] : form->terms)
    addTo(emit(value), isSubtracted != (form->key == 1));
  auto moved = [&](int64_t distance) -> Value {
    return arith::AddIOp::create(builder, op.getLoc(), place, number(distance));
  };
  KeyInterval keys;
  if (numbers->min != DifferenceRange::kUnboundedMin)
    keys.low = moved(numbers->min);
  if (numbers->max != DifferenceRange::kUnboundedMax)
    keys.high = moved(numbers->max + 1);
  return keys;
}

/// Emits the interval of all keys or of no keys, for a condition on the row.
std::optional<KeyInterval> IntervalBuilder::buildOfRow(Value condition) {
  if (reader.dependsOn(condition, kKey | kOpaque))
    return std::nullopt;
  Value high =
      arith::SelectOp::create(builder, op.getLoc(), emit(condition), number(kFar), number(-kFar));
  return KeyInterval{Value(), high};
}

std::optional<KeyInterval> IntervalBuilder::build(Value condition, int depth) {
  if (depth > kMaxDepth)
    return std::nullopt;
  auto both = condition.getDefiningOp<arith::AndIOp>();
  auto either = condition.getDefiningOp<arith::OrIOp>();
  if (!both && !either) {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    std::optional<KeyInterval> keys = compare ? buildCompare(compare) : std::nullopt;
    return keys ? keys : buildOfRow(condition);
  }
  Operation *logic = condition.getDefiningOp();
  std::optional<KeyInterval> a = build(logic->getOperand(0), depth + 1);
  std::optional<KeyInterval> b = a ? build(logic->getOperand(1), depth + 1) : std::nullopt;
  if (!b)
    return std::nullopt;
  if (both)
    return KeyInterval{join<arith::MaxSIOp>(a->low, b->low),
                       join<arith::MinSIOp>(a->high, b->high)};
  // The union has no gap if both intervals are unbounded on the same side.
  const bool areBefore = !a->low && !b->low, areFrom = !a->high && !b->high;
  if (areBefore && a->high && b->high)
    return KeyInterval{Value(), join<arith::MaxSIOp>(a->high, b->high)};
  if (areFrom && a->low && b->low)
    return KeyInterval{join<arith::MinSIOp>(a->low, b->low), Value()};
  return std::nullopt;
}

std::optional<KeyInterval> IntervalBuilder::buildHull(Value condition, int depth) {
  if (depth > kMaxDepth || reader.rangeOf(condition).exact)
    return std::nullopt;
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    std::optional<KeyInterval> a = buildHull(both.getLhs(), depth + 1);
    std::optional<KeyInterval> b = buildHull(both.getRhs(), depth + 1);
    if (!a || !b)
      return a ? a : b;
    return KeyInterval{join<arith::MaxSIOp>(a->low, b->low),
                       join<arith::MinSIOp>(a->high, b->high)};
  }
  std::optional<KeyInterval> keys = build(condition, depth);
  return keys && (keys->low || keys->high) ? keys : std::nullopt;
}

} // namespace

std::optional<KeyInterval>
mlir::pe::buildKeyHull(MaskFnOp mask, OpBuilder &builder, const PairPoint &row,
                       llvm::function_ref<Value(Value, ValueRange)> read) {
  return IntervalBuilder(mask, builder, row, read)
      .buildHull(cast<YieldOp>(mask.getBody().front().getTerminator()).getValues()[0]);
}

std::optional<IntervalScope> mlir::pe::findHullScope(MaskFnOp mask) {
  return findIntervalScope(mask.getLoc(), [&](OpBuilder &builder, const PairPoint &row, auto read) {
    return buildKeyHull(mask, builder, row, read);
  });
}

DifferenceRange MaskFnOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  Block &block = getBody().front();
  return RegionReader(block).rangeOf(cast<YieldOp>(block.getTerminator()).getValues()[0]);
}

std::optional<KeyInterval>
MaskFnOp::buildKeyInterval(OpBuilder &builder, Location loc, const PairPoint &row,
                           ArrayRef<KeyInterval>,
                           llvm::function_ref<Value(Value, ValueRange)> read) {
  if (DifferenceRange range = getDifferenceRange({}); range.exact)
    return intervalOfRange(builder, loc, row, range);
  return IntervalBuilder(*this, builder, row, read)
      .build(cast<YieldOp>(getBody().front().getTerminator()).getValues()[0]);
}
