//===- BiasVerifiers.cpp - rules of biases and their gradients ------------===//
#include "dialect/Tile/Verify.h"

#include "runtime/plan/Activations.h"
#include "runtime/plan/NameList.h"

using namespace mlir;
using namespace mlir::tile;

static LogicalResult verifyIsPair(Operation *op, Value value, StringRef label) {
  if (isPair(spacesOf(value)))
    return success();
  return op->emitOpError("expected a value over [r, c], found ")
         << value.getType() << " (" << label << ")";
}

static LogicalResult verifyDistanceTable(Operation *op, Value table, StringRef label) {
  if (isPerHead(cast<BufferType>(table.getType()), {"t"}))
    return success();
  return op->emitOpError("expected a table with extent t last, heads before it, found ")
         << table.getType() << " (" << label << ")";
}

LogicalResult WindowOp::verify() {
  if (failed(verifyIsPair(*this, getValue(), "window-C1")))
    return failure();
  return verifyDistanceTable(*this, getTable(), "window-C2");
}

/// Returns true if the extents of `buffer` are heads, its slots if it has any, and `last`.
static bool holdsSums(Value buffer, ArrayRef<StringRef> last) {
  auto type = cast<BufferType>(buffer.getType());
  SmallVector<StringRef> extents(last);
  if (slotsOf(buffer))
    extents.insert(extents.begin(), type.getExtents()[2].getValue());
  return isPerHead(type, extents);
}

LogicalResult WindowGradOp::verify() {
  if (failed(verifyIsPair(*this, getValue(), "window_grad-C1")))
    return failure();
  if (!holdsSums(getTable(), {"t"})) // window_grad-C2
    return emitOpError("expected a table with extent t last, heads and slots before it, found ")
           << getTable().getType() << " (window_grad-C2)";
  if (!isOwned(getTable().getType())) // window_grad-C3
    return emitOpError(
               "expected extents b and hq, so that work items never share an element, found ")
           << getTable().getType() << " (window_grad-C3)";
  return success();
}

/// Verifies pairs and rows of an op whose table holds vectors of the distance.
static LogicalResult verifyWindow(Operation *op, StringRef name, Value value, Value rows) {
  if (failed(verifyIsPair(op, value, (name + "-C1").str())))
    return failure();
  if (!isRowPanel(spacesOf(rows)))
    return op->emitOpError("expected rows over r and a depth, found ")
           << rows.getType() << " (" << name << "-C2)";
  return success();
}

/// Verifies the distances of `within`.
template <typename Op> static LogicalResult verifyWithin(Op op, StringRef label) {
  IntegerAttr low = op.getLowAttr(), high = op.getHighAttr();
  if (!low == !high && (!low || low.getInt() <= high.getInt()))
    return success();
  return op.emitOpError("expected both ends of within in ascending order, found ")
         << low << " and " << high << " (" << label << ")";
}

/// Verifies an f32 table [d, t], or a table [t, d] of vectors in the type of their products, which
/// pe-lay-out-tables writes.
static LogicalResult verifyVectors(Operation *op, StringRef name, Value rows, Value operand,
                                   Value table) {
  auto type = cast<BufferType>(table.getType());
  StringRef depth = depthOf(spacesOf(rows));
  Type element = type.getElementType(), expected = elementOf(operand);
  const bool isTyped = element == expected || (expected.isTF32() && element.isF32());
  if ((isPerHead(type, {depth, "t"}) && element.isF32()) ||
      (isPerHead(type, {"t", depth}) && isTyped))
    return success();
  return op->emitOpError("expected an f32 table with extents ")
         << depth << " and t last, or t and " << depth << " and the type of " << operand.getType()
         << ", heads before them, found " << type << " (" << name << "-C3)";
}

LogicalResult WindowDotOp::verify() {
  if (failed(verifyWindow(*this, "window_dot", getValue(), getRows())) ||
      failed(verifyWithin(*this, "window_dot-C4")))
    return failure();
  return verifyVectors(*this, "window_dot", getRows(), getRows(), getTable());
}
LogicalResult WindowSumOp::verify() {
  if (failed(verifyWindow(*this, "window_sum", getValue(), getRows())) ||
      failed(verifyWithin(*this, "window_sum-C4")))
    return failure();
  return verifyVectors(*this, "window_sum", getRows(), getValue(), getTable());
}
LogicalResult WindowOuterOp::verify() {
  if (failed(verifyWindow(*this, "window_outer", getValue(), getRows())) ||
      failed(verifyWithin(*this, "window_outer-C6")))
    return failure();
  StringRef depth = depthOf(spacesOf(getRows()));
  BufferType table = getTable().getType();
  if (!isPerHead(table, {"t", depth}) || !table.getElementType().isF32()) // window_outer-C3
    return emitOpError("expected an f32 table with extents t and ")
           << depth << " last, heads before them, found " << table << " (window_outer-C3)";
  if (!isOwned(getTable().getType())) // window_outer-C4
    return emitOpError(
               "expected extents b and hq, so that work items never share an element, found ")
           << getTable().getType() << " (window_outer-C4)";
  if (elementOf(getValue()) != elementOf(getRows())) // window_outer-C5
    return emitOpError("expected pairs and rows of the same element type, found ")
           << getValue().getType() << " and " << getRows().getType() << " (window_outer-C5)";
  return success();
}

/// Verifies a table with the extents b, hq, a number of distances, and r.
static LogicalResult verifyNearTable(Operation *op, Value table, StringRef label) {
  ArrayRef<StringAttr> extents = cast<BufferType>(table.getType()).getExtents();
  int64_t count = 0;
  const bool fits = extents.size() == 4 && extents[0] == "b" && extents[1] == "hq" &&
                    !extents[2].getValue().getAsInteger(10, count) && count > 0 &&
                    extents[3] == "r" && cast<BufferType>(table.getType()).getElementType().isF32();
  if (fits)
    return success();
  return op->emitOpError(
             "expected an f32 table of extents b, hq, a number of distances and r, found ")
         << table.getType() << " (" << label << ")";
}

int64_t mlir::tile::entriesOfNear(Value table) {
  int64_t count = 0;
  cast<BufferType>(table.getType()).getExtents()[2].getValue().getAsInteger(10, count);
  return count;
}

LogicalResult NearOp::verify() {
  if (failed(verifyIsPair(*this, getValue(), "near-C1")))
    return failure();
  return verifyNearTable(*this, getTable(), "near-C2");
}

LogicalResult NearGradOp::verify() {
  if (failed(verifyIsPair(*this, getValue(), "near_grad-C1")))
    return failure();
  return verifyNearTable(*this, getTable(), "near_grad-C2");
}

/// Verifies u over distances and v over rows.
static LogicalResult verifyCoordinate(Operation *op, Value u, Value v, StringRef label) {
  if (isPerHead(cast<BufferType>(u.getType()), {"t"}) &&
      isPerHead(cast<BufferType>(v.getType()), {"r"}))
    return success();
  return op->emitOpError("expected u with extent t last and v with extent r last, heads before "
                         "them, found ")
         << u.getType() << " and " << v.getType() << " (" << label << ")";
}

int64_t mlir::tile::degreeOfSegments(Value coefficients) {
  int64_t powers = 0;
  auto extents = cast<BufferType>(coefficients.getType()).getExtents();
  return extents.empty() || extents.back().getValue().getAsInteger(10, powers) ? -1 : powers - 1;
}

/// Verifies the tables of a piecewise polynomial.
static LogicalResult verifySegmentTables(Operation *op, Value knots, Value coefficients,
                                         Value count, StringRef label) {
  auto typeOf = [](Value value) { return cast<BufferType>(value.getType()); };
  auto extents = typeOf(coefficients).getExtents();
  const int64_t degree = degreeOfSegments(coefficients);
  bool fits =
      typeOf(knots).getRank() == 1 && extents.size() >= 2 && extents.size() <= 3 &&
      (degree == 0 || degree == 1 || degree == 3) &&
      isPerHead(typeOf(coefficients), {extents[extents.size() - 2], extents.back().getValue()}) &&
      isPerHead(typeOf(count), {"1"}) && typeOf(count).getRank() == 1 &&
      typeOf(count).getElementType().isInteger(32);
  if (fits)
    return success();
  return op->emitOpError("expected knots of one extent, coefficients with the pieces and 1, 2 or 4 "
                         "powers last, and count of !tile.buffer<[1], i32>, found ")
         << knots.getType() << ", " << coefficients.getType() << " and " << count.getType() << " ("
         << label << ")";
}

LogicalResult SegmentsOp::verify() {
  if (failed(verifyIsPair(*this, getValue(), "segments-C1")) ||
      failed(verifyCoordinate(*this, getU(), getV(), "segments-C2")))
    return failure();
  return verifySegmentTables(*this, getKnots(), getCoefficients(), getCount(), "segments-C3");
}

LogicalResult SegmentsGradOp::verify() {
  if (failed(verifyIsPair(*this, getValue(), "segments_grad-C1")) ||
      failed(verifyCoordinate(*this, getU(), getV(), "segments_grad-C2")) ||
      failed(verifySegmentTables(*this, getKnots(), getCoefficients(), getCount(),
                                 "segments_grad-C3")))
    return failure();
  auto tables = getCoefficients().getType().getExtents().take_back(2);
  StringRef pieces = tables[0].getValue(), powers = tables[1].getValue();
  auto sums = [](Value buffer, ArrayRef<StringRef> last) {
    if (!buffer)
      return true;
    return holdsSums(buffer, last) && isOwned(cast<BufferType>(buffer.getType()));
  };
  if (!sums(getMoments(), {pieces, powers}) || !sums(getVGrad(), {"r"}) ||
      !sums(getUGrad(), {"t"})) // segments_grad-C4
    return emitOpError("expected sums over b and hq: moments [b, hq, ")
           << pieces << ", " << powers << "], rows [b, hq, r], diagonals [b, hq, t], found "
           << getMoments().getType() << " (segments_grad-C4)";
  return success();
}

/// Returns true if the layers alternate between weights of one or two extents and biases of one,
/// all f32.
static bool areLinks(OperandRange layers) {
  if (layers.empty() || layers.size() % 2)
    return false;
  for (auto [index, layer] : llvm::enumerate(layers)) {
    auto type = cast<BufferType>(layer.getType());
    bool bias = index % 2;
    bool rank = type.getRank() == (bias ? 1 : 2) || (index == 0 && type.getRank() == 1);
    if (!rank || !type.getElementType().isF32())
      return false;
  }
  return true;
}

LogicalResult FindSegmentsOp::verify() {
  if (!areLinks(getLinks())) // find_segments-C1
    return emitOpError("expected links of f32: alternating weight [n] or [n, m] and bias [n] "
                       "(find_segments-C1)");
  if (failed(verifyCoordinate(*this, getU(), getV(), "find_segments-C2")) ||
      failed(verifySegmentTables(*this, getKnots(), getCoefficients(), getCount(),
                                 "find_segments-C3")))
    return failure();
  if (auto stage = (*this)->getParentOfType<StageOp>();
      stage && !stage.getOver().empty()) // find_segments-C4
    return emitOpError("expected a stage over [], since the tables serve all heads, found over ")
           << stage.getOver() << " (find_segments-C4)";
  constexpr auto &kNames = ::pe::plan::kActivationNames;
  const bool areKnown =
      llvm::all_of(getFunctions().getAsValueRange<StringAttr>(),
                   [](StringRef name) { return llvm::is_contained(kNames, name); });
  if (2 * getFunctions().size() != getLinks().size() || !areKnown) // find_segments-C5
    return emitOpError("expected one of ")
           << ::pe::plan::listNames(kNames, "and") << " per link, found " << getFunctions()
           << " for " << getLinks().size() / 2 << " links (find_segments-C5)";
  if (!(getTolerance().convertToDouble() > 0)) // find_segments-C6
    return emitOpError("expected a tolerance above 0, found ")
           << getTolerance().convertToDouble() << " (find_segments-C6)";
  return success();
}
