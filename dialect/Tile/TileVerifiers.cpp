//===- TileVerifiers.cpp - rules of values and memory ---------------------===//
#include "dialect/Tile/Verify.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

//===- Shared ----------------------------------------------------------------===//

LogicalResult mlir::tile::verifyExpression(Operation *op, StringRef what, StringRef text,
                                           SizeUse use, StringRef label) {
  std::string problem;
  auto parsed = ::pe::plan::SizeExpression::parse(text, problem);
  if (!parsed)
    return op->emitOpError() << what << " \"" << text << "\": " << problem << " (" << label << ")";
  std::vector<std::string> names = getSizeNames(op->getParentOfType<PlanOp>(), use);
  if (const std::string *unknown = parsed->findOtherThan(names))
    return op->emitOpError() << what << " \"" << text << "\": expected the names "
                             << llvm::join(names, ", ") << ", found " << *unknown << " (" << label
                             << ")";
  return success();
}

bool mlir::tile::isPerHead(BufferType buffer, ArrayRef<StringRef> last) {
  ArrayRef<StringAttr> extents = buffer.getExtents();
  if (extents.size() < last.size())
    return false;
  for (auto [extent, name] : llvm::zip_equal(extents.take_back(last.size()), last))
    if (extent.getValue() != name)
      return false;
  return llvm::all_of(extents.drop_back(last.size()), [](StringAttr extent) {
    StringRef name = extent.getValue();
    return name == "b" || name == "hq" || name == "hkv";
  });
}

bool mlir::tile::isOwned(BufferType buffer) { return buffer.has("b") && buffer.has("hq"); }

/// Returns true if the extents of the buffer, except heads and blocks, are those of a value over
/// `spaces`.
static bool bufferHolds(BufferType buffer, const SpaceSet &spaces) {
  auto isHeld = [&](StringRef name) { return buffer.has(name); };
  auto isOther = [&](StringRef name) { return buffer.has(name) && !spaces.has(name); };
  return llvm::all_of(spaces.getNames(), isHeld) &&
         llvm::none_of(ArrayRef<StringRef>{"r", "c", "d", "e"}, isOther);
}

/// Returns an extent that indexes neither a value over `spaces` nor a head or block, or null.
static StringAttr findOtherExtent(BufferType buffer, const SpaceSet &spaces) {
  constexpr StringRef kImplied[] = {"b", "hq", "hkv", "kb"};
  for (StringAttr extent : buffer.getExtents())
    if (!llvm::is_contained(kImplied, extent.getValue()) && !spaces.has(extent.getValue()))
      return extent;
  return {};
}

static bool isOverKeyHeads(Operation *op) {
  auto stage = op->getParentOfType<StageOp>();
  return stage && !stage.getOver().empty() &&
         cast<StringAttr>(stage.getOver().getValue().back()).getValue() == "hkv";
}

static bool isInStream(Operation *op) { return op->getParentOfType<StreamOp>() != nullptr; }

//===- Types -------------------------------------------------------------------===//

LogicalResult ValType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, SpaceSet,
                              Type element) {
  if (element.isF32() || element.isF64() || element.isBF16() || element.isF16() ||
      element.isTF32() || element.isIndex()) // val-C1
    return success();
  return emitError() << "expected elements of f32, f64, bf16, f16, tf32 or index, found " << element
                     << " (val-C1)";
}

//===- Memory ------------------------------------------------------------------===//

/// Verifies rules C1 to C4, which load and store share.
template <typename Op> static LogicalResult verifyMemory(Op op, StringRef name) {
  ValType value = op.getValue().getType();
  BufferType buffer = op.getBuffer().getType();
  if (hasPairs(value.getSpaces()))
    return op.emitOpError("expected a panel, a vector or a head scalar, found a value over ")
           << value.getSpaces().toString() << ", which is virtual (" << name << "-C1)";
  if (!bufferHolds(buffer, value.getSpaces()))
    return op.emitOpError("expected the buffer's extents to hold a value over ")
           << value.getSpaces().toString() << ", found " << buffer << " (" << name << "-C2)";
  if (StringAttr other = findOtherExtent(buffer, value.getSpaces()))
    return op.emitOpError("expected extents that name the value's indices, found ")
           << other.getValue() << " (" << name << "-C3)";
  if (value.getElementType() != buffer.getElementType())
    return op.emitOpError("expected the buffer's element type ")
           << buffer.getElementType() << ", found a value of " << value.getElementType() << " ("
           << name << "-C4)";
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyMemory(*this, "load")))
    return failure();
  BufferType buffer = getBuffer().getType();
  bool inStream = isInStream(*this);
  if (buffer.has("kb") && !inStream) // load-C5
    return emitOpError("expected a buffer with extent kb to be loaded only inside a stream "
                       "(load-C5)");
  if (hasColumns(spacesOf(getValue())) && buffer.has("hq") && !inStream &&
      isOverKeyHeads(*this)) // load-C6
    return emitOpError(
        "expected no extent hq in a load of a value over c outside a stream over key "
        "heads, whose columns belong to no query head (load-C6)");
  return success();
}

LogicalResult StoreOp::verify() {
  if (failed(verifyMemory(*this, "store")))
    return failure();
  BufferType buffer = getBuffer().getType();
  const SpaceSet &spaces = spacesOf(getValue());
  bool inStream = isInStream(*this);
  if (inStream && !(isRow(spaces) && buffer.has("kb"))) // store-C5
    return emitOpError("expected a store inside a stream to be a snapshot: a value over r to a "
                       "buffer with extent kb (store-C5)");
  if (!inStream && buffer.has("kb")) // store-C6
    return emitOpError("expected a buffer with extent kb to be stored only inside a stream "
                       "(store-C6)");
  StringRef head = hasColumns(spaces) && isOverKeyHeads(*this) ? "hkv" : "hq";
  StringRef otherHead = head == "hq" ? "hkv" : "hq";
  if (!buffer.has("b") || !buffer.has(head) || buffer.has(otherHead)) // store-C7
    return emitOpError("expected extents b and ")
           << head << ", so that work items never write the same element, found " << buffer
           << " (store-C7)";
  return success();
}

//===- Values --------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (elementOf(getValue()).isIndex()) // constant-C1
    return emitOpError("expected a floating-point number, found ")
           << getValue().getType() << " (constant-C1)";
  return success();
}

/// Verifies rules C2 and C3, which position and index share. Index values may be used only by maps.
static LogicalResult verifyIndex(Operation *op, const SpaceSet &spaces, StringRef name) {
  auto type = cast<ValType>(op->getResult(0).getType());
  if (type.getSpaces() != spaces || !type.getElementType().isIndex())
    return op->emitOpError("expected a result of !tile.val<")
           << spaces.toString() << ", index>, found " << type << " (" << name << "-C2)";
  for (Operation *user : op->getUsers())
    if (!isa<MapOp>(user))
      return op->emitOpError("expected to be an input only of maps, found a use by ")
             << user->getName() << " (" << name << "-C3)";
  return success();
}

LogicalResult PositionOp::verify() {
  if (getSpace() != "r" && getSpace() != "c") // position-C1
    return emitOpError("expected the space r or c, found ") << getSpace() << " (position-C1)";
  return verifyIndex(*this, {getSpace()}, "position");
}

LogicalResult IndexOp::verify() {
  const bool isHead = getSpace() == "b" || getSpace() == "hq";
  if (!isHead && getSpace() != "r" && getSpace() != "c") // index-C1
    return emitOpError("expected the space b, hq, r or c, found ") << getSpace() << " (index-C1)";
  return verifyIndex(*this, isHead ? SpaceSet{} : SpaceSet{getSpace()}, "index");
}

static LogicalResult verifyIndices(MapOp op) {
  for (Value output : op.getOutputs())
    if (elementOf(output).isIndex()) // map-C10
      return op.emitOpError("expected results of floating-point numbers, found ")
             << output.getType() << " (map-C10)";
  auto stage = op->getParentOfType<StageOp>();
  const bool isOfColumns = op->getParentOp() == stage && hasColumns(op.getIterationSpaces());
  for (Value input : op.getInputs())
    if (auto index = input.getDefiningOp<IndexOp>();
        index && index.getSpace() == "hq" && isOfColumns && isOverKeyHeads(op)) // map-C11
      return op.emitOpError("expected no tile.index \"hq\" for values over c outside a stream over "
                            "key heads, whose columns belong to no query head (map-C11)");
  return success();
}

/// Verifies the spaces of a map: all results have the same spaces, and every input broadcasts to
/// them.
static LogicalResult verifyMapSpaces(MapOp op) {
  if (op.getInputs().empty() && op.getOutputs().empty()) // map-C3
    return op.emitOpError("expected an input or a result, found neither (map-C3)");
  for (Value output : op.getOutputs())
    if (spacesOf(output) != spacesOf(op.getOutputs().front())) // map-C4
      return op.emitOpError("expected results over the same spaces, found ")
             << spacesOf(op.getOutputs().front()).toString() << " and "
             << spacesOf(output).toString() << " (map-C4)";
  const SpaceSet spaces = op.getIterationSpaces();
  for (Value input : op.getInputs())
    if (!spaces.contains(spacesOf(input))) // map-C5
      return op.emitOpError("expected inputs that broadcast to ")
             << spaces.toString() << ", found " << input.getType() << " (map-C5)";
  return success();
}

static LogicalResult verifyMapTypes(MapOp op) {
  Block &body = op.getBody().front();
  unsigned expected = op.getInputs().size();
  if (body.getNumArguments() != expected) // map-C1
    return op.emitOpError("expected ")
           << expected << " region arguments, found " << body.getNumArguments() << " (map-C1)";
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != op.getNumResults()) // map-C2
    return op.emitOpError("expected ") << op.getNumResults() << " yielded values, found "
                                       << yield->getNumOperands() << " (map-C2)";
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    Type type = elementOf(op.getInputs()[number]);
    if (argument.getType() != type) // map-C6
      return op.emitOpError("expected region argument ")
             << number << " to have type " << type << ", found " << argument.getType()
             << " (map-C6)";
  }
  for (auto [value, result] : llvm::zip_equal(yield->getOperands(), op.getOutputs()))
    if (value.getType() != elementOf(result)) // map-C7
      return op.emitOpError("expected a yielded value of ")
             << elementOf(result) << ", found " << value.getType() << " (map-C7)";
  return success();
}

LogicalResult MapOp::verify() {
  return failure(failed(verifyMapSpaces(*this)) || failed(verifyIndices(*this)));
}

LogicalResult MapOp::verifyRegions() {
  if (failed(verifyMapTypes(*this)))
    return failure();
  WalkResult writes = getBody().walk([](WriteOp) { return WalkResult::interrupt(); });
  if (writes.wasInterrupted()) // map-C9
    return emitOpError("expected effects only by tile.accumulate, found tile.write (map-C9)");
  return verifyScalarCode(*this, getBody(), "map-C8");
}

LogicalResult MaskOp::verify() {
  if (!isPair(spacesOf(getInput()))) // mask-C1
    return emitOpError("expected a value over [r, c], found ")
           << getInput().getType() << " (mask-C1)";
  Value condition = getCondition();
  if (condition && (!isPair(spacesOf(condition)) || !elementOf(condition).isF32())) // mask-C2
    return emitOpError("expected a condition of f32 over [r, c], found ")
           << condition.getType() << " (mask-C2)";
  if (condition && condition != (*this)->getParentOfType<StreamOp>().getCondition()) // mask-C3
    return emitOpError("expected one condition for all masks of a stream, found another "
                       "(mask-C3)");
  return success();
}

LogicalResult RandomOp::verify() {
  if (!isPair(spacesOf(getValue())) || !elementOf(getValue()).isF32()) // random-C1
    return emitOpError("expected a value of f32 over [r, c], found ")
           << getValue().getType() << " (random-C1)";
  BufferType seed = getSeed().getType();
  const bool fits = seed.getRank() == 0 || (seed.getRank() == 1 && seed.has("b"));
  if (!fits || !seed.getElementType().isInteger(64)) // random-C2
    return emitOpError("expected a seed of i64, or one per batch entry, found ")
           << seed << " (random-C2)";
  if (getLeast() < 1 || getLeast() > int64_t(1) << 32) // random-C3
    return emitOpError("expected a least word in [1, 2^32], found ")
           << getLeast() << " (random-C3)";
  return success();
}

LogicalResult ReduceOp::verify() {
  const SpaceSet &in = spacesOf(getInput());
  if (!in.has(getAxis()) || spacesOf(getOutput()) != in.without(getAxis())) // reduce-C1
    return emitOpError("expected the result to be the input without ")
           << getAxis() << ", found " << getInput().getType() << " to " << getOutput().getType()
           << " (reduce-C1)";
  if (getKind() == Reduction::Min) // reduce-C3
    return emitOpError("expected add or max, found min (reduce-C3)");
  bool ofBlock = getAxis() == "r" || getAxis() == "c";
  if (ofBlock && !isInStream(*this)) // reduce-C2
    return emitOpError("expected a reduction over ")
           << getAxis() << " inside a stream, where it is over the current block (reduce-C2)";
  return success();
}

LogicalResult DotOp::verify() {
  const SpaceSet &a = spacesOf(getLhs()), &b = spacesOf(getRhs()), &out = spacesOf(getOutput());
  if (!a.has(getAxis()) || !b.has(getAxis()) || out != a.join(b).without(getAxis())) // dot-C1
    return emitOpError("expected ")
           << getAxis() << " in both operands and a result over their other spaces, found "
           << getLhs().getType() << ", " << getRhs().getType() << " to " << getOutput().getType()
           << " (dot-C1)";
  if (Value init = getInit(); init && !out.contains(spacesOf(init))) // dot-C2
    return emitOpError("expected init to broadcast to the result's ")
           << out.toString() << ", found " << init.getType() << " (dot-C2)";
  Type left = cast<ValType>(getLhs().getType()).getElementType();
  Type right = cast<ValType>(getRhs().getType()).getElementType();
  Type result = cast<ValType>(getOutput().getType()).getElementType();
  if (left != right || result.isBF16() || result.isF16() || result.isTF32()) // dot-C3
    return emitOpError("expected operands of the same element type and a result of f32, found ")
           << left << ", " << right << " to " << getOutput().getType() << " (dot-C3)";
  return success();
}

LogicalResult ScanOp::verify() {
  if ((getKind() == ScanKind::Linear) != static_cast<bool>(getB())) // scan-C1
    return emitOpError("expected `plus` if and only if the scan is linear (scan-C1)");
  const SpaceSet &a = spacesOf(getA());
  if (!isPair(a) || spacesOf(getCarryIn()) != a.without("c")) // scan-C2
    return emitOpError("expected a value over [r, c] and a carry over [r], found ")
           << getA().getType() << " and " << getCarryIn().getType() << " (scan-C2)";
  if (getB() && getB().getType() != getA().getType()) // scan-C3
    return emitOpError("expected `plus` of type ")
           << getA().getType() << ", found " << getB().getType() << " (scan-C3)";
  if (getOrder() == Order::Any) // scan-C4
    return emitOpError("expected ascending or descending, found any (scan-C4)");
  return success();
}

//===- Biases ----------------------------------------------------------------------===//

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

LogicalResult WindowGradOp::verify() {
  if (failed(verifyIsPair(*this, getValue(), "window_grad-C1")) ||
      failed(verifyDistanceTable(*this, getTable(), "window_grad-C2")))
    return failure();
  if (!isOwned(getTable().getType())) // window_grad-C3
    return emitOpError(
               "expected extents b and hq, so that work items never share an element, found ")
           << getTable().getType() << " (window_grad-C3)";
  return success();
}

/// Verifies a table whose extents are heads, then the depth of `rows` and t, or, if `isAdjoint`, t
/// and the depth.
static LogicalResult verifyWindow(Operation *op, StringRef name, Value value, Value rows,
                                  Value table, bool isAdjoint = false) {
  if (failed(verifyIsPair(op, value, (name + "-C1").str())))
    return failure();
  const SpaceSet &spaces = spacesOf(rows);
  if (!isRowPanel(spaces))
    return op->emitOpError("expected rows over [r, d] or [r, e], found ")
           << rows.getType() << " (" << name << "-C2)";
  auto type = cast<BufferType>(table.getType());
  SmallVector<StringRef> last = {depthOf(spaces), "t"};
  if (isAdjoint)
    std::swap(last[0], last[1]);
  if (!isPerHead(type, last) || !type.getElementType().isF32())
    return op->emitOpError("expected an f32 table with extents ")
           << last[0] << " and " << last[1] << " last, heads before them, found " << type << " ("
           << name << "-C3)";
  return success();
}

LogicalResult WindowDotOp::verify() {
  return verifyWindow(*this, "window_dot", getValue(), getRows(), getTable());
}
LogicalResult WindowSumOp::verify() {
  return verifyWindow(*this, "window_sum", getValue(), getRows(), getTable());
}
LogicalResult WindowOuterOp::verify() {
  if (failed(verifyWindow(*this, "window_outer", getValue(), getRows(), getTable(),
                          /*isAdjoint=*/true)))
    return failure();
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
    auto type = cast<BufferType>(buffer.getType());
    return isPerHead(type, last) && isOwned(type);
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
  const bool areKnown =
      llvm::all_of(getFunctions().getAsValueRange<StringAttr>(),
                   [](StringRef name) { return symbolizeLinkFunction(name).has_value(); });
  if (2 * getFunctions().size() != getLinks().size() || !areKnown) // find_segments-C5
    return emitOpError("expected one of identity, relu, gelu, tanh, silu, cos and step per link, "
                       "found ")
           << getFunctions() << " for " << getLinks().size() / 2 << " links (find_segments-C5)";
  if (!(getTolerance().convertToDouble() > 0)) // find_segments-C6
    return emitOpError("expected a tolerance above 0, found ")
           << getTolerance().convertToDouble() << " (find_segments-C6)";
  return success();
}
