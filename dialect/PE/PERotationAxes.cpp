//===- PERotationAxes.cpp - Rotations by several positions per token ------===//
//
// Every pair of dims has an axis, and is rotated by the position of the token along that axis. With
// sections = [12, 10, 10], sections_of = 32 and a head of 16 pairs:
//
//   blocks        pairs 0-5 have axis 0, 6-10 axis 1, 11-15 axis 2
//   alternating   pairs 1, 4, 7, 10, 13 have axis 1 and 2, 5, 8, 11, 14 axis 2, the others axis 0
//
// Verifies constraints rotary-C9 to rotary-C13 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialect/FloatBuilder.h"
#include "dialect/PE/PERotations.h"

using namespace mlir;
using namespace mlir::pe;

static SmallVector<int64_t> sectionsOf(RotaryOp op) {
  SmallVector<int64_t> sections;
  for (Attribute section : op.getSectionsAttr())
    sections.push_back(cast<IntegerAttr>(section).getInt());
  return sections;
}

/// Returns the number of pairs of a rotation whose sections are not scaled.
static int64_t sumOfSections(RotaryOp op) {
  const SmallVector<int64_t> sections = sectionsOf(op);
  return std::accumulate(sections.begin(), sections.end(), int64_t(0));
}

LogicalResult mlir::pe::verifyAxes(RotaryOp op) {
  const bool hasSections = static_cast<bool>(op.getSections());
  if (hasSections != !op.getPositions().empty() || op.getPositions().size() > 2) // rotary-C9
    return op.emitOpError("expected positions of queries and keys together with sections, found ")
           << op.getPositions().size() << " tensors and " << (hasSections ? "" : "no ")
           << "sections; write positions(%p : tensor<3x?x?xi32>) {sections = [16, 24, 24]} "
              "(rotary-C9)";
  if (!hasSections) {
    if (op.getAlternating() || op.getRestart() || op.getSectionsOf()) // rotary-C12
      return op.emitOpError("expected no sections_of, alternating and restart without sections, "
                            "found one (rotary-C12)");
    return success();
  }
  const SmallVector<int64_t> sections = sectionsOf(op);
  for (Value positions : op.getPositions())
    if (auto type = cast<RankedTensorType>(positions.getType());
        type.getDimSize(0) != static_cast<int64_t>(sections.size())) // rotary-C10
      return op.emitOpError("expected positions along ")
             << sections.size() << " axes, one per section, found " << type << " (rotary-C10)";
  if (llvm::any_of(sections, [](int64_t size) { return size < 1 || size > (1 << 20); }) ||
      (op.getSectionsOf() &&
       static_cast<int64_t>(*op.getSectionsOf()) != sumOfSections(op))) // rotary-C11
    return op.emitOpError("expected positive sections that add up to the number of pairs")
           << (op.getSectionsOf() ? ", sections_of = " + std::to_string(*op.getSectionsOf()) : "")
           << ", found " << op.getSectionsAttr() << " (rotary-C11)";
  if (op.getRestart() && (op.getAlternating() || op.getScaling())) // rotary-C12
    return op.emitOpError("expected restart without ")
           << (op.getAlternating() ? "alternating" : "scaling") << ", found both (rotary-C12)";
  if (op.getLearnedBase()) // rotary-C13
    return op.emitOpError("expected a base that is an attribute together with positions(...), "
                          "found a tensor (rotary-C13)");
  return success();
}

LogicalResult mlir::pe::verifySections(RotaryOp op, int64_t pairs,
                                       function_ref<InFlightDiagnostic()> emitError) {
  if (!op.getSections() || op.getSectionsOf() || sumOfSections(op) == pairs)
    return success();
  return emitError() << "expected sections that add up to the " << pairs // rotary-C11
                     << " rotated pairs, found a sum of " << sumOfSections(op)
                     << "; sections_of = " << sumOfSections(op)
                     << " scales them to any number of pairs (rotary-C11)";
}

SmallVector<int64_t> mlir::pe::boundsOfAxes(RotaryOp op, int64_t pairs) {
  SmallVector<int64_t> bounds = {0};
  const int64_t all = sumOfSections(op);
  int64_t sum = 0;
  for (int64_t section : sectionsOf(op)) {
    sum += section;
    bounds.push_back(llvm::divideCeilSigned(sum * pairs, all));
  }
  return bounds;
}

AxisPositions RotaryOp::getAxisPositions() {
  if (getPositions().empty())
    return {};
  return {getPositions().front(), getPositions().back()};
}

SmallVector<std::string> RotaryOp::getTensorExtents(Value operand) {
  if (operand == getLearnedBase())
    return {};
  const bool isOfQueries = operand == getPositions().front();
  return {std::to_string(cast<RankedTensorType>(operand.getType()).getDimSize(0)), "b",
          isOfQueries ? "r" : "c"};
}

Value RotaryOp::buildAxis(OpBuilder &builder, Location loc, Value pair, int64_t headDim) {
  ImplicitLocOpBuilder b(loc, builder);
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
  auto isBelow = [&](Value a, int64_t bound) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, a, number(bound));
  };
  const int64_t pairs = getRotatedDims(headDim) / 2;
  const SmallVector<int64_t> sections = sectionsOf(*this);
  const auto axes = static_cast<int64_t>(sections.size());
  Value axis = number(0);
  if (!getAlternating()) {
    for (auto [n, bound] : llvm::enumerate(ArrayRef(boundsOfAxes(*this, pairs)).drop_back()))
      axis =
          arith::SelectOp::create(b, isBelow(pair, bound), axis, number(static_cast<int64_t>(n)));
    return axis;
  }
  Value turn = arith::RemSIOp::create(b, pair, number(axes));
  for (int64_t n = 1; n < axes; ++n) {
    const int64_t end = llvm::divideCeilSigned(axes * sections[n] * pairs, sumOfSections(*this));
    Value isOwn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, turn, number(n));
    Value isInside = arith::AndIOp::create(b, isOwn, isBelow(pair, end));
    axis = arith::SelectOp::create(b, isInside, number(n), axis);
  }
  return axis;
}

Value mlir::pe::buildRestartedFrequency(RotaryOp op, OpBuilder &builder, Location loc, Value base,
                                        Value pair, int64_t pairs) {
  FloatBuilder f(loc, builder);
  auto number = [&](double value) { return f.number(value, f.getF64Type()); };
  Value power = number(0);
  const SmallVector<int64_t> bounds = boundsOfAxes(op, pairs);
  for (size_t n = 0; n + 1 < bounds.size(); ++n) {
    const auto first = static_cast<double>(bounds[n]);
    const auto count = static_cast<double>(std::max<int64_t>(bounds[n + 1] - bounds[n], 1));
    Value own = f.mul(number(-1 / count), f.sub(pair, number(first)));
    power = n == 0 ? own : f.select(f.less(pair, number(first)), power, own);
  }
  return math::PowFOp::create(f, base, power);
}
