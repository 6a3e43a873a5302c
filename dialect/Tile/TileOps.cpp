//===- TileOps.cpp - what the tile ops say about themselves ---------------===//
#include "dialect/Tile/Tile.h"

using namespace mlir;
using namespace mlir::tile;

SpaceSet MapOp::getIterationSpaces() {
  SpaceSet spaces;
  for (Value value : getOutputs().empty() ? ValueRange(getInputs()) : ValueRange(getOutputs()))
    spaces = spaces.join(spacesOf(value));
  return spaces;
}

ParseResult mlir::tile::parseSpace(OpAsmParser &parser, StringAttr &space) {
  StringRef name;
  if (failed(parser.parseKeyword(&name)))
    return failure();
  space = parser.getBuilder().getStringAttr(name);
  return success();
}

void mlir::tile::printSpace(OpAsmPrinter &printer, Operation *, StringAttr space) {
  printer << space.getValue();
}

MaskBounds StageOp::getMaskBounds() {
  DictionaryAttr mask = getMask().value_or(DictionaryAttr());
  if (!mask)
    return {};
  StringRef kind = mask.getAs<StringAttr>("kind").getValue();
  if (kind == "causal")
    return {std::nullopt, 1};
  if (kind == "strict_causal")
    return {std::nullopt, 0};
  MaskBounds bounds;
  if (auto left = mask.getAs<IntegerAttr>("left"))
    bounds.left = left.getInt();
  if (auto right = mask.getAs<IntegerAttr>("right"))
    bounds.right = right.getInt();
  return bounds;
}

StreamOp StageOp::getStream() {
  auto streams = getBody().front().getOps<StreamOp>();
  return streams.empty() ? StreamOp() : *streams.begin();
}

Value StreamOp::getYielded(unsigned i) { return getBody().front().getTerminator()->getOperand(i); }
