//===- TileOps.cpp - Accessors and syntax of the tile ops -----------------===//
#include "dialect/Tile/Tile.h"

using namespace mlir;
using namespace mlir::tile;

SpaceSet MapOp::getIterationSpaces() {
  SpaceSet spaces;
  for (Value value : getOutputs().empty() ? ValueRange(getInputs()) : ValueRange(getOutputs()))
    spaces = spaces.join(spacesOf(value));
  return spaces;
}

Value MapOp::getInputOf(Value regionValue) {
  auto argument = dyn_cast<BlockArgument>(regionValue);
  if (!argument || argument.getOwner() != &getBody().front() ||
      argument.getArgNumber() >= getInputs().size())
    return {};
  return getInputs()[argument.getArgNumber()];
}

bool MapOp::isIndexOf(Value regionValue, StringRef space) {
  Value input = getInputOf(regionValue);
  auto index = input ? input.getDefiningOp<IndexOp>() : IndexOp();
  return index && index.getSpace() == space;
}

ParseResult mlir::tile::parseSpace(OpAsmParser &parser, StringAttr &space) {
  StringRef name;
  int64_t size; // a number names a space of that size
  if (OptionalParseResult number = parser.parseOptionalInteger(size); number.has_value()) {
    space = parser.getBuilder().getStringAttr(Twine(size));
    return *number;
  }
  if (failed(parser.parseKeyword(&name)))
    return failure();
  space = parser.getBuilder().getStringAttr(name);
  return success();
}

void mlir::tile::printSpace(OpAsmPrinter &printer, Operation *, StringAttr space) {
  printer << space.getValue();
}

ParseResult mlir::tile::parseBand(OpAsmParser &parser, IntegerAttr &left, IntegerAttr &right) {
  if (failed(parser.parseOptionalKeyword("band")))
    return success();
  auto parseBound = [&]() -> ParseResult {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    int64_t bound;
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseInteger(bound))
      return failure();
    IntegerAttr &slot = name == "left" ? left : right;
    if ((name != "left" && name != "right") || slot)
      return parser.emitError(loc, "expected left and right, each once, found ") << name;
    slot = parser.getBuilder().getI64IntegerAttr(bound);
    return success();
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseBound);
}

void mlir::tile::printBand(OpAsmPrinter &printer, Operation *, IntegerAttr left,
                           IntegerAttr right) {
  if (!left && !right)
    return;
  printer << "band(";
  if (left)
    printer << "left = " << left.getInt() << (right ? ", " : "");
  if (right)
    printer << "right = " << right.getInt();
  printer << ")";
}

MaskBand PairsOp::getBand() {
  MaskBand band;
  if (getLeft()) // i - j < left
    band.lower = 1 - static_cast<int64_t>(*getLeft());
  if (getRight()) // j - i < right
    band.upper = *getRight();
  return band;
}

static PairsOp pairsOf(StageOp stage) {
  return stage.getPairs() ? stage.getPairs().getDefiningOp<PairsOp>() : PairsOp();
}

MaskBand StageOp::getBand() {
  PairsOp pairs = pairsOf(*this);
  return pairs ? pairs.getBand() : MaskBand();
}

Value StageOp::getLowColumns() {
  PairsOp pairs = pairsOf(*this);
  return pairs ? pairs.getLow() : Value();
}

Value StageOp::getHighColumns() {
  PairsOp pairs = pairsOf(*this);
  return pairs ? pairs.getHigh() : Value();
}

Value StageOp::getReach() {
  PairsOp pairs = pairsOf(*this);
  return pairs ? pairs.getReach() : Value();
}

Value StageOp::getBlockStates() {
  PairsOp pairs = pairsOf(*this);
  return pairs ? pairs.getStates() : Value();
}

std::optional<StateBlock> StageOp::getStateBlock() {
  Value states = getBlockStates();
  return states ? stateBlockOf(states) : std::nullopt;
}

/// Returns N if `extent` is ceildiv(NAME,N), or 0.
static int64_t blockOf(StringRef extent, StringRef name) {
  int64_t block = 0;
  const bool is = extent.consume_front("ceildiv(") && extent.consume_front(name) &&
                  extent.consume_front(",") && extent.consume_back(")") &&
                  !extent.getAsInteger(10, block);
  return is && block <= 1 << 20 ? block : 0;
}

std::optional<StateBlock> mlir::tile::stateBlockOf(Value states) {
  ArrayRef<StringAttr> extents = cast<BufferType>(states.getType()).getExtents();
  if (extents.size() < 2)
    return std::nullopt;
  const StateBlock block{blockOf(extents[extents.size() - 2], "r"), blockOf(extents.back(), "c")};
  return block.rows > 0 && block.columns > 0 ? std::optional(block) : std::nullopt;
}

Value StageOp::getTakenColumns() {
  PairsOp pairs = pairsOf(*this);
  return pairs ? pairs.getTaken() : Value();
}

SmallVector<Value> StageOp::getPairBuffers() {
  PairsOp pairs = pairsOf(*this);
  return pairs ? SmallVector<Value>(pairs->getOperands()) : SmallVector<Value>();
}

StreamOp StageOp::getStream() {
  auto streams = getBody().front().getOps<StreamOp>();
  return streams.empty() ? StreamOp() : *streams.begin();
}

Value StreamOp::getYielded(unsigned i) { return getBody().front().getTerminator()->getOperand(i); }

Value StreamOp::getCondition() {
  for (auto mask : getBody().front().getOps<MaskOp>())
    if (mask.getCondition())
      return mask.getCondition();
  return {};
}
