//===- Tile.h - the tile dialect ------------------------------------------===//
//
// Block algorithms over named index spaces: see TileDialect.td for the model and
// TileOps.td for every op. pe-tile-to-loops (passes/ToLoops) is the definition of
// what they mean.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_TILE_H
#define PE_DIALECT_TILE_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Math/StateBlocks.h"
#include "dialect/Tile/SpaceSet.h"
#include "dialect/Tile/TileDialect.h.inc"
#include "dialect/Tile/TileEnums.h.inc"

#include <optional>

namespace mlir::tile {

/// The name of one space, as it stands in the text of an op: `over c`.
ParseResult parseSpace(OpAsmParser &parser, StringAttr &space);
void printSpace(OpAsmPrinter &printer, Operation *op, StringAttr space);

/// ` band(left = 12, right = 5)`, each bound if present; nothing without bounds.
ParseResult parseBand(OpAsmParser &parser, IntegerAttr &left, IntegerAttr &right);
void printBand(OpAsmPrinter &printer, Operation *op, IntegerAttr left, IntegerAttr right);

/// The degree of the pieces of tile.segments, by the last extent of their coefficients; -1 where
/// that is no number.
int64_t degreeOfSegments(Value coefficients);
/// How many distances a table of tile.near has.
int64_t entriesOfNear(Value table);

} // namespace mlir::tile

#define GET_ATTRDEF_CLASSES
#include "dialect/Tile/TileAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/Tile/TileOps.h.inc"

namespace mlir::tile {

/// The element type of a buffer or of a value.
inline Type elementOf(Value value) {
  if (auto buffer = dyn_cast<BufferType>(value.getType()))
    return buffer.getElementType();
  return cast<ValType>(value.getType()).getElementType();
}

inline const SpaceSet &spacesOf(Value value) { return cast<ValType>(value.getType()).getSpaces(); }

/// Declares the parameters of attention: k_start, q_start, head_start, heads_total.
void declarePositions(OpBuilder &builder, Location loc);

/// Attribute of a `math.exp2` whose argument is at most 127, or NaN: a lowering need not handle
/// larger ones.
constexpr llvm::StringLiteral kBelow127 = "tile.below_127";

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_TILE_H
