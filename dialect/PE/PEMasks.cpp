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
std::optional<KeyInterval>
MaskAndOp::buildKeyInterval(OpBuilder &builder, Location loc, const PairPoint &,
                            ArrayRef<KeyInterval> operands,
                            llvm::function_ref<Value(Value, ValueRange)>) {
  auto both = [&]<typename Op>(Value a, Value b) -> Value {
    return !a ? b : !b ? a : Value(Op::create(builder, loc, a, b));
  };
  return KeyInterval{both.operator()<arith::MaxSIOp>(operands[0].low, operands[1].low),
                     both.operator()<arith::MinSIOp>(operands[0].high, operands[1].high)};
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
// Masks of a range
//===----------------------------------------------------------------------===//

Value mlir::pe::createRangeMask(OpBuilder &builder, Location loc, const DifferenceRange &range) {
  Type type = builder.getType<MaskType>();
  Value mask;
  auto keep = [&](Value part) {
    mask = mask ? MaskAndOp::create(builder, loc, type, mask, part).getResult() : part;
  };
  IntegerAttr left, right;
  if (range.min >= 1)
    keep(StrictCausalOp::create(builder, loc, type));
  else if (range.min == 0)
    keep(CausalOp::create(builder, loc, type));
  else if (range.min != DifferenceRange::kUnboundedMin)
    right = builder.getI64IntegerAttr(1 - range.min);
  if (range.max >= 0 && range.max != DifferenceRange::kUnboundedMax)
    left = builder.getI64IntegerAttr(range.max + 1);
  if (left || right)
    keep(SlidingWindowOp::create(builder, loc, type, left, right));
  return mask;
}
