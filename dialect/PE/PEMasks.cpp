//===- PEMasks.cpp - Values and ranges of masks ---------------------------===//

#include "dialect/PE/PEMasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEMasks.cpp.inc"

/// i - j >= `least`
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
  return {.min = 0, .max = DifferenceRange::kUnboundedMax};
}

Value StrictCausalOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                  ValueRange) {
  return buildAtLeast(builder, loc, point, 1);
}

DifferenceRange StrictCausalOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  return {.min = 1, .max = DifferenceRange::kUnboundedMax};
}

//===----------------------------------------------------------------------===//
// SlidingWindowOp
//===----------------------------------------------------------------------===//

LogicalResult SlidingWindowOp::verify() {
  if (!getLeft() && !getRight()) // sliding_window-C1
    return emitOpError("expected at least one of left and right, found neither; a window without "
                       "bounds masks nothing (sliding_window-C1)");
  for (auto [name, bound] : {std::pair("left", getLeft()), std::pair("right", getRight())})
    if (bound && *bound < 1) // sliding_window-C2
      return emitOpError("expected ") << name << " to be at least 1, found " << *bound
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
  DifferenceRange range;
  if (getLeft())
    range.max = *getLeft() - 1;
  if (getRight())
    range.min = 1 - *getRight();
  return range;
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
  return {.min = std::max(operands[0].min, operands[1].min),
          .max = std::min(operands[0].max, operands[1].max),
          .exact = operands[0].exact && operands[1].exact};
}

OpFoldResult MaskOrOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? getLhs() : Value(); }

Value MaskOrOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &,
                            ValueRange operands) {
  return arith::OrIOp::create(builder, loc, operands[0], operands[1]);
}

DifferenceRange MaskOrOp::getDifferenceRange(ArrayRef<DifferenceRange> operands) {
  auto [first, second] =
      std::minmax(operands[0], operands[1], [](auto &a, auto &b) { return a.min < b.min; });
  if (first.isEmpty() || second.isEmpty())
    return first.isEmpty() ? second : first;
  // The hull is the union only when the ranges touch.
  bool touches = first.max >= second.min || first.max + 1 == second.min;
  return {.min = first.min,
          .max = std::max(first.max, second.max),
          .exact = first.exact && second.exact && touches};
}
