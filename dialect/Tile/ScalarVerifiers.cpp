//===- ScalarVerifiers.cpp - Verifiers of scalar code ---------------------===//
#include "dialect/Tile/Verify.h"

using namespace mlir;
using namespace mlir::tile;

static bool isScalar(Type type) { return type.isIntOrIndexOrFloat(); }

static bool isScalarOp(Operation *op) {
  if (isa<ScratchOp>(op))
    return true;
  if (!llvm::all_of(op->getResultTypes(), isScalar))
    return false;
  if (isa<ReadOp, WriteOp, AccumulateOp, SizeOp, YieldOp>(op))
    return true;
  StringRef name = op->getName().getStringRef();
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "arith" || dialect == "math" || dialect == "scf" || name == "memref.load" ||
         name == "memref.store";
}

LogicalResult mlir::tile::verifyScalarCode(Operation *op, Region &region, StringRef label) {
  auto fromOutside = [&](Value value) { return !region.isAncestor(value.getParentRegion()); };
  WalkResult result = region.walk([&](Operation *inner) -> WalkResult {
    if (!isScalarOp(inner))
      return inner->emitOpError("expected scalar code: arith, math, scf, loads and stores of "
                                "tile.scratch, tile.read, write, accumulate and size (")
             << label << ")";
    for (Value operand : inner->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!fromOutside(operand) || isa<BufferType>(operand.getType()))
        continue;
      if (!source || !(isa<SizeOp>(source) || matchPattern(source, m_Constant())))
        return inner->emitOpError("expected values of the region, constants and sizes, found "
                                  "another value from outside (")
               << label << ")";
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ForeachOp::verify() {
  for (StringRef extent : getOver().getAsValueRange<StringAttr>())
    if (failed(verifyExpression(*this, "over", extent, SizeUse::Scalar, "foreach-C1")))
      return failure();
  return success();
}

LogicalResult ForeachOp::verifyRegions() {
  Block &body = getBody().front();
  size_t expected = cast<StageOp>((*this)->getParentOp()).getOver().size() + getOver().size();
  auto isIndex = [](Type type) { return isa<IndexType>(type); };
  if (body.getNumArguments() != expected ||
      !llvm::all_of(body.getArgumentTypes(), isIndex)) // foreach-C2
    return emitOpError("expected ")
           << expected << " index arguments, one per space of the stage and one per extent, found "
           << body.getNumArguments() << " (foreach-C2)";
  if (body.getTerminator()->getNumOperands()) // foreach-C3
    return emitOpError("expected an empty tile.yield (foreach-C3)");
  return verifyScalarCode(*this, getBody(), "foreach-C4");
}

LogicalResult SizeOp::verify() {
  return verifyExpression(*this, "size", getExpression(), SizeUse::Scalar, "size-C1");
}

LogicalResult ScratchOp::verify() {
  auto type = cast<MemRefType>(getMemory().getType());
  if (!type.hasStaticShape() || type.getRank() != 1 || !type.getLayout().isIdentity() ||
      type.getMemorySpace() ||
      !(type.getElementType().isF32() || type.getElementType().isF64())) // scratch-C1
    return emitOpError("expected a 1-d memref of f32 or f64 with a static size, found ")
           << type << " (scratch-C1)";
  if (!(*this)->getParentOfType<ForeachOp>() && !(*this)->getParentOfType<MapOp>()) // scratch-C2
    return emitOpError("expected to be inside a tile.foreach or tile.map (scratch-C2)");
  return success();
}

/// Verifies rules C1 to C3, which read, write and accumulate share.
static LogicalResult verifyElement(Operation *op, BufferType buffer, ValueRange indices, Type value,
                                   bool converts, StringRef name) {
  if (static_cast<int64_t>(indices.size()) != buffer.getRank())
    return op->emitOpError("expected ")
           << buffer.getRank() << " indices, found " << indices.size() << " (" << name << "-C1)";
  Type element = buffer.getElementType();
  bool fits = value == element || (converts && value.isIntOrFloat() && isa<FloatType>(value) &&
                                   isa<FloatType>(element));
  if (!fits)
    return op->emitOpError("expected the buffer's element type ")
           << element << ", found " << value << " (" << name << "-C2)";
  if (!op->getParentOfType<ForeachOp>() && !op->getParentOfType<MapOp>())
    return op->emitOpError("expected to be inside a tile.foreach or tile.map (") << name << "-C3)";
  return success();
}

LogicalResult ReadOp::verify() {
  return verifyElement(*this, getBuffer().getType(), getIndices(), getValue().getType(), false,
                       "read");
}

LogicalResult WriteOp::verify() {
  return verifyElement(*this, getBuffer().getType(), getIndices(), getValue().getType(), false,
                       "write");
}

LogicalResult AccumulateOp::verify() {
  if (failed(verifyElement(*this, getBuffer().getType(), getIndices(), getValue().getType(), true,
                           "accumulate")))
    return failure();
  auto map = (*this)->getParentOfType<MapOp>();
  if (getOwn() && (!map || !isPair(map.getIterationSpaces()))) // accumulate-C6
    return emitOpError("expected `own` in a map over pairs (accumulate-C6)");
  if (!map)
    return success();
  if (getKind() != Reduction::Add) // accumulate-C5
    return emitOpError("expected a sum in a map, found by ")
           << stringifyReduction(getKind()) << " (accumulate-C5)";
  bool owned = getIndices().size() >= 2 && map.isIndexOf(getIndices()[0], "b") &&
               map.isIndexOf(getIndices()[1], "hq");
  if (!owned) // accumulate-C4
    return emitOpError(
        "expected indices that begin with tile.index \"b\" and \"hq\", so that work items never "
        "share an element (accumulate-C4)");
  return success();
}
