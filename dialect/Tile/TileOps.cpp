//===- TileOps.cpp - what the tile ops say about themselves ---------------===//
#include "dialect/Tile/Tile.h"

using namespace mlir;
using namespace mlir::tile;

std::optional<Spaces> mlir::tile::joinSpaces(Spaces a, Spaces b) {
  auto depthOf = [](Spaces s) {
    return s == Spaces::RD || s == Spaces::CD ? 'd' : s == Spaces::RE || s == Spaces::CE ? 'e' : 0;
  };
  bool rows = hasRows(a) || hasRows(b), columns = hasColumns(a) || hasColumns(b);
  char depth = std::max(depthOf(a), depthOf(b));
  if (hasDepth(a) && hasDepth(b) && depthOf(a) != depthOf(b))
    return std::nullopt;
  if (rows && columns)
    return depth ? std::nullopt : std::optional(Spaces::RC);
  if (!depth)
    return rows ? Spaces::R : columns ? Spaces::C : Spaces::H;
  if (rows)
    return depth == 'd' ? Spaces::RD : Spaces::RE;
  return depth == 'd' ? Spaces::CD : Spaces::CE;
}

Spaces MapOp::getIterationSpaces() {
  ValueRange values = getOutputs().empty() ? ValueRange(getInputs()) : ValueRange(getOutputs());
  std::optional<Spaces> spaces = Spaces::H;
  for (Value value : values)
    if (spaces)
      spaces = joinSpaces(*spaces, cast<ValType>(value.getType()).getSpaces());
  return spaces.value_or(Spaces::RC); // no common space: refused by the verifier
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
