//===- TileVerifiers.cpp - rules of values and memory ---------------------===//
#include "dialect/Tile/Verify.h"

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
static bool bufferHolds(Value buffer, const SpaceSet &spaces) {
  const SmallVector<StringAttr> extents = accessedExtents(buffer);
  auto isHeld = [&](StringRef name) {
    return llvm::any_of(extents, [&](StringAttr extent) { return extent == name; });
  };
  auto isOther = [&](StringRef name) { return isHeld(name) && !spaces.has(name); };
  return llvm::all_of(spaces.getNames(), isHeld) &&
         llvm::none_of(ArrayRef<StringRef>{"r", "c", "d", "e"}, isOther);
}

/// Returns an extent that indexes neither a value over `spaces` nor a head or block, or null.
static StringAttr findOtherExtent(Value buffer, const SpaceSet &spaces) {
  constexpr StringRef kImplied[] = {"b", "hq", "hkv", "kb", "ks"};
  for (StringAttr extent : accessedExtents(buffer))
    if (!llvm::is_contained(kImplied, extent.getValue()) && !spaces.has(extent.getValue()))
      return extent;
  return {};
}

static bool isOverKeyHeads(Operation *op) {
  auto stage = op->getParentOfType<StageOp>();
  return stage && stage.isOver("hkv");
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
  if (hasPairs(value.getSpaces()) &&
      !(isPair(value.getSpaces()) && isInStream(op) && pairBlocksOf(op.getBuffer())))
    return op.emitOpError("expected a panel, a vector, a head scalar or, in a stream, pairs in a "
                          "temporary [b, hq, ceildiv(c,LINE)*LINE, ceildiv(r,ALONG)*ALONG] (or "
                          "with r and c exchanged), found a value over ")
           << value.getSpaces().toString() << " and " << buffer << " (" << name << "-C1)";
  if (!bufferHolds(op.getBuffer(), value.getSpaces()))
    return op.emitOpError("expected the buffer's extents to hold a value over ")
           << value.getSpaces().toString() << ", found " << buffer << " (" << name << "-C2)";
  if (StringAttr other = findOtherExtent(op.getBuffer(), value.getSpaces()))
    return op.emitOpError("expected extents that name the value's indices, found ")
           << other.getValue() << " (" << name << "-C3)";
  const Type element = buffer.getElementType();
  const bool converts = value.getElementType().isF32() && (element.isBF16() || element.isF16());
  if (value.getElementType() != element && !converts)
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
  auto stream = (*this)->getParentOfType<StreamOp>();
  if (buffer.has("ks") && !(stream && stream.getOverSplits())) // load-C7
    return emitOpError("expected a buffer with extent ks to be loaded only inside a stream over "
                       "splits (load-C7)");
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
  if (tableOf(getBuffer())) // store-C9
    return emitOpError(
               "expected a store to a buffer without `pages`, which the caller fills, found ")
           << buffer << " (store-C9)";
  bool inStream = isInStream(*this);
  if (inStream && !isPair(spaces) && !(isRow(spaces) && buffer.has("kb"))) // store-C5
    return emitOpError("expected a store inside a stream to be of pairs or a snapshot: a value "
                       "over r to a buffer with extent kb (store-C5)");
  if (!inStream && buffer.has("kb")) // store-C6
    return emitOpError("expected a buffer with extent kb to be stored only inside a stream "
                       "(store-C6)");
  const bool isOverSplits = (*this)->getParentOfType<StageOp>().isOver("ks");
  if (buffer.has("ks") != isOverSplits) // store-C8
    return emitOpError("expected extent ks in every store of a stage over ks, and in no other, "
                       "found ")
           << buffer << " (store-C8)";
  StringRef head = hasColumns(spaces) && !isPair(spaces) && isOverKeyHeads(*this) ? "hkv" : "hq";
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

LogicalResult RescaleOp::verify() {
  const SpaceSet &scores = spacesOf(getScores()), &maximum = spacesOf(getMaximum());
  if (!isPair(scores) || maximum != scores.without("c")) // rescale-C1
    return emitOpError("expected scores over [r, c] and a maximum over [r], found ")
           << getScores().getType() << " and " << getMaximum().getType() << " (rescale-C1)";
  for (Value sum : getSums())
    if (!hasRows(spacesOf(sum)) || hasColumns(spacesOf(sum))) // rescale-C2
      return emitOpError("expected sums over r and not c, found ")
             << sum.getType() << " (rescale-C2)";
  if (!(getUnit().convertToFloat() > 0 && getSlack().convertToFloat() >= 0)) // rescale-C3
    return emitOpError("expected a positive unit and a slack of at least 0, found ")
           << getUnit().convertToFloat() << " and " << getSlack().convertToFloat()
           << " (rescale-C3)";
  return success();
}
