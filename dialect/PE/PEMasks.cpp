//===- PEMasks.cpp - Values and ranges of masks ---------------------------===//

#include "dialect/PE/PEMasks.h"

#include "dialect/PE/PEScalarBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEMasks.cpp.inc"

/// Emits i - j >= `least`.
static Value buildAtLeast(OpBuilder &builder, Location loc, const PairPoint &point, int64_t least) {
  Value bound = arith::ConstantIndexOp::create(builder, loc, least);
  Value difference = arith::SubIOp::create(builder, loc, point.query, point.key);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, difference, bound);
}

//===----------------------------------------------------------------------===//
// Causal masks
//===----------------------------------------------------------------------===//

Value CausalOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point, ValueRange) {
  return buildAtLeast(builder, loc, point, 0);
}

DifferenceRange CausalOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  return DifferenceRange::atLeast(0);
}

Value StrictCausalOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                  ValueRange) {
  return buildAtLeast(builder, loc, point, 1);
}

DifferenceRange StrictCausalOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  return DifferenceRange::atLeast(1);
}

//===----------------------------------------------------------------------===//
// SlidingWindowOp
//===----------------------------------------------------------------------===//

LogicalResult SlidingWindowOp::verify() {
  if (!getLeft() && !getRight()) // sliding_window-C1
    return emitOpError("expected at least one of left and right, found neither; a window without "
                       "bounds masks nothing (sliding_window-C1)");
  for (auto [name, attribute] :
       {std::pair("left", getLeftAttr()), std::pair("right", getRightAttr())})
    if (attribute && attribute.getInt() < 1) // sliding_window-C2
      return emitOpError("expected ") << name << " to be at least 1, found " << attribute.getInt()
                                      << "; 1 keeps the query's own position (sliding_window-C2)";
  return success();
}

Value SlidingWindowOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                   ValueRange) {
  Value difference = arith::SubIOp::create(builder, loc, point.query, point.key);
  Value inside;
  auto require = [&](arith::CmpIPredicate predicate, int64_t bound) {
    Value limit = arith::ConstantIndexOp::create(builder, loc, bound);
    Value holds = arith::CmpIOp::create(builder, loc, predicate, difference, limit);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, holds) : holds;
  };
  if (getLeft())
    require(arith::CmpIPredicate::slt, *getLeft());
  if (getRight())
    require(arith::CmpIPredicate::sgt, -*getRight());
  return inside;
}

DifferenceRange SlidingWindowOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  return DifferenceRange::window(getLeft(), getRight());
}

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

OpFoldResult MaskAndOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? getLhs() : Value(); }

Value MaskAndOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &,
                             ValueRange operands) {
  return arith::AndIOp::create(builder, loc, operands[0], operands[1]);
}

DifferenceRange MaskAndOp::getDifferenceRange(ArrayRef<DifferenceRange> operands) {
  return DifferenceRange::both(operands[0], operands[1]);
}

/// Emits the intersection of both intervals.
static KeyInterval intersect(OpBuilder &builder, Location loc, const KeyInterval &a,
                             const KeyInterval &b) {
  auto both = [&]<typename Op>(Value x, Value y) -> Value {
    return !x ? y : !y ? x : Value(Op::create(builder, loc, x, y));
  };
  return {both.operator()<arith::MaxSIOp>(a.low, b.low),
          both.operator()<arith::MinSIOp>(a.high, b.high)};
}

std::optional<KeyInterval>
MaskAndOp::buildKeyInterval(OpBuilder &builder, Location loc, const PairPoint &,
                            ArrayRef<KeyInterval> operands,
                            llvm::function_ref<Value(Value, ValueRange)>) {
  return intersect(builder, loc, operands[0], operands[1]);
}

OpFoldResult MaskOrOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? getLhs() : Value(); }

Value MaskOrOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &,
                            ValueRange operands) {
  return arith::OrIOp::create(builder, loc, operands[0], operands[1]);
}

DifferenceRange MaskOrOp::getDifferenceRange(ArrayRef<DifferenceRange> operands) {
  return DifferenceRange::either(operands[0], operands[1]);
}

/// The union of two intervals may have a gap. Only handles ranges of i - j whose union is a range.
std::optional<KeyInterval>
MaskOrOp::buildKeyInterval(OpBuilder &builder, Location loc, const PairPoint &row,
                           ArrayRef<KeyInterval>, llvm::function_ref<Value(Value, ValueRange)>) {
  std::optional<DifferenceRange> range = pe::getDifferenceRange(getResult());
  return range ? intervalOfRange(builder, loc, row, *range) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// MaskPartsOp
//===----------------------------------------------------------------------===//

LogicalResult MaskPartsOp::verify() {
  if (getCode() ? !getCode().getDefiningOp<MaskFnOp>() : getCodeBounds() || getBlocks()) // C1
    return emitOpError("expected the code to be a pe.mask_fn, and code_bounds and blocks only with "
                       "code (mask_parts-C1)");
  return success();
}

DifferenceRange MaskPartsOp::getRange() {
  DifferenceRange range;
  if (std::optional<int64_t> bound = getMin())
    range.min = *bound;
  if (std::optional<int64_t> bound = getMax())
    range.max = *bound;
  range.exact = getIntervals().empty() && !getCode();
  return range;
}

Value MaskPartsOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                               ValueRange operands) {
  const DifferenceRange range = getRange();
  Value difference = arith::SubIOp::create(builder, loc, point.query, point.key), all;
  auto require = [&](Value part) {
    all = all ? arith::AndIOp::create(builder, loc, all, part).getResult() : part;
  };
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) {
    require(arith::CmpIOp::create(builder, loc, predicate, difference,
                                  arith::ConstantIndexOp::create(builder, loc, bound)));
  };
  if (range.min != DifferenceRange::kUnboundedMin)
    compare(arith::CmpIPredicate::sge, range.min);
  if (range.max != DifferenceRange::kUnboundedMax)
    compare(arith::CmpIPredicate::sle, range.max);
  for (Value part : operands)
    require(part);
  return all ? all : arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
}

DifferenceRange MaskPartsOp::getDifferenceRange(ArrayRef<DifferenceRange>) { return getRange(); }

/// Emits the intersection of the range and the intervals.
std::optional<KeyInterval>
MaskPartsOp::buildKeyInterval(OpBuilder &builder, Location loc, const PairPoint &row,
                              ArrayRef<KeyInterval> operands,
                              llvm::function_ref<Value(Value, ValueRange)>) {
  if (getCode())
    return std::nullopt;
  DifferenceRange range = getRange();
  range.exact = true;
  KeyInterval all = *intervalOfRange(builder, loc, row, range);
  for (const KeyInterval &each : operands)
    all = intersect(builder, loc, all, each);
  return all;
}
