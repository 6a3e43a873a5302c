//===- TileVerifiers.cpp - local rules of the tile ops --------------------===//
#include "dialect/Tile/Tile.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// The space that a value over `spaces` keeps besides depth, and its extents in a buffer.
bool bufferHolds(BufferType buffer, Spaces spaces) {
  auto needs = [&](StringRef name, bool wanted) { return buffer.has(name) == wanted; };
  bool d = spaces == Spaces::RD || spaces == Spaces::CD;
  bool e = spaces == Spaces::RE || spaces == Spaces::CE;
  return needs("r", hasRows(spaces)) && needs("c", hasColumns(spaces)) && needs("d", d) &&
         needs("e", e);
}

} // namespace

LogicalResult LoadOp::verify() {
  Spaces spaces = getValue().getType().getSpaces();
  if (spaces == Spaces::RC) // load-C1
    return emitOpError(
        "expected a panel, a vector or a head scalar, found a value over rc, which is "
        "virtual");
  if (!bufferHolds(getBuffer().getType(), spaces)) // load-C2
    return emitOpError("expected the buffer's extents to hold a value over ")
           << stringifySpaces(spaces) << ", found " << getBuffer().getType();
  return success();
}

LogicalResult StoreOp::verify() {
  Spaces spaces = getValue().getType().getSpaces();
  if (spaces == Spaces::RC) // store-C1
    return emitOpError(
        "expected a panel, a vector or a head scalar, found a value over rc, which is "
        "virtual");
  if (!bufferHolds(getBuffer().getType(), spaces)) // store-C2
    return emitOpError("expected the buffer's extents to hold a value over ")
           << stringifySpaces(spaces) << ", found " << getBuffer().getType();
  if ((*this)->getParentOfType<StreamOp>() &&
      !(spaces == Spaces::R && getBuffer().getType().has("kb"))) // store-C3
    return emitOpError(
        "expected a store inside a stream to be a snapshot: a value over r to a buffer "
        "with extent kb");
  return success();
}

LogicalResult MapOp::verify() {
  Block &body = getBody().front();
  unsigned expected = getInputs().size() + (getPositions() ? 4 : 0);
  if (body.getNumArguments() != expected) // map-C1
    return emitOpError("expected ")
           << expected << " region arguments, found " << body.getNumArguments();
  if (body.getTerminator()->getNumOperands() != getNumResults()) // map-C2
    return emitOpError("expected ") << getNumResults() << " yielded values, found "
                                    << body.getTerminator()->getNumOperands();
  return success();
}

LogicalResult MaskOp::verify() {
  if (getInput().getType().getSpaces() != Spaces::RC) // mask-C1
    return emitOpError("expected a value over rc, found ") << getInput().getType();
  return success();
}

LogicalResult ReduceOp::verify() {
  Spaces in = getInput().getType().getSpaces(), out = getOutput().getType().getSpaces();
  bool legal = false;
  switch (getAxis()) {
  case Axis::C:
    legal = (in == Spaces::RC && out == Spaces::R) || (in == Spaces::C && out == Spaces::H);
    break;
  case Axis::R:
    legal = (in == Spaces::RC && out == Spaces::C) || (in == Spaces::R && out == Spaces::H);
    break;
  case Axis::D:
    legal = (in == Spaces::RD && out == Spaces::R) || (in == Spaces::CD && out == Spaces::C);
    break;
  case Axis::E:
    legal = (in == Spaces::RE && out == Spaces::R) || (in == Spaces::CE && out == Spaces::C);
    break;
  }
  if (!legal) // reduce-C1
    return emitOpError("expected the result to be the input without ")
           << stringifyAxis(getAxis()) << ", found " << getInput().getType() << " to "
           << getOutput().getType();
  return success();
}

LogicalResult DotOp::verify() {
  Spaces a = getLhs().getType().getSpaces(), b = getRhs().getType().getSpaces();
  Spaces out = getOutput().getType().getSpaces();
  bool legal = false;
  switch (getAxis()) {
  case Axis::D:
    legal = a == Spaces::RD && b == Spaces::CD && out == Spaces::RC;
    break;
  case Axis::E:
    legal = a == Spaces::RE && b == Spaces::CE && out == Spaces::RC;
    break;
  case Axis::C:
    legal = a == Spaces::RC &&
            ((b == Spaces::CD && out == Spaces::RD) || (b == Spaces::CE && out == Spaces::RE));
    break;
  case Axis::R:
    legal = a == Spaces::RC &&
            ((b == Spaces::RD && out == Spaces::CD) || (b == Spaces::RE && out == Spaces::CE));
    break;
  }
  if (!legal) // dot-C1
    return emitOpError("expected a contraction over ")
           << stringifyAxis(getAxis()) << " as the op's table lists, found " << getLhs().getType()
           << ", " << getRhs().getType() << " to " << getOutput().getType();
  if (Value init = getInit())
    if (init.getType() != getOutput().getType() && // dot-C2
        cast<ValType>(init.getType()).getSpaces() != Spaces::R)
      return emitOpError("expected init of the result's type or over r, found ") << init.getType();
  return success();
}

LogicalResult ScanOp::verify() {
  if ((getKind() == ScanKind::Linear) != static_cast<bool>(getB())) // scan-C1
    return emitOpError("expected `plus` exactly for a linear scan");
  if (getA().getType().getSpaces() != Spaces::RC ||
      getCarryIn().getType().getSpaces() != Spaces::R) // scan-C2
    return emitOpError("expected a value over rc and a carry over r, found ")
           << getA().getType() << " and " << getCarryIn().getType();
  if (getOrder() == Order::Any) // scan-C3
    return emitOpError("expected ascending or descending");
  return success();
}

LogicalResult StreamOp::verify() {
  Block &body = getBody().front();
  unsigned carries = getCarries().size();
  if (body.getNumArguments() != carries) // stream-C1
    return emitOpError("expected ")
           << carries << " region arguments, one per carry, found " << body.getNumArguments();
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != getNumResults() || getNumResults() < carries) // stream-C2
    return emitOpError("expected the body to yield every carry, then every fold: ")
           << getNumResults() << " values, found " << yield->getNumOperands();
  for (auto [index, carry] : llvm::enumerate(getCarries())) {
    Spaces spaces = cast<ValType>(carry.getType()).getSpaces();
    if (spaces != Spaces::R && spaces != Spaces::RD && spaces != Spaces::RE) // stream-C3
      return emitOpError("expected carry ")
             << index << " to be a value over r, rd or re, found " << carry.getType();
  }
  if (carries && getOrder() == Order::Any) // stream-C4
    return emitOpError("expected an order for a stream with carries");
  if (getStopCarry().has_value() != getStopBelow().has_value() ||
      (getStopCarry() && *getStopCarry() >= carries)) // stream-C5
    return emitOpError("expected stop_carry, the index of a carry, together with stop_below");
  if (static_cast<bool>(getSkipBuffer()) != getSkipBelow().has_value()) // stream-C6
    return emitOpError("expected a skip buffer together with skip_below");
  return success();
}
LogicalResult StageOp::verify() { return success(); }
