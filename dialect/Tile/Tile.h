//===- Tile.h - The tile dialect ------------------------------------------===//
//
// Block algorithms over named index spaces. TileDialect.td describes the model, and TileOps.td
// every op. pe-tile-to-loops (passes/ToLoops) defines the semantics.
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

/// The rows and columns of a block of pairs that has a state.
struct StateBlock {
  int64_t rows, columns;
};
/// Returns the blocks of a buffer of states, [..., ceildiv(r,ROWS), ceildiv(c,COLUMNS)], or nothing
/// for any other buffer.
std::optional<StateBlock> stateBlockOf(Value states);

/// The side whose blocks are the outer loop of a stream (Owner.h).
enum class Owner { Rows, Columns };

} // namespace mlir::tile

#include "dialect/Tile/TileInterfaces.h.inc"

namespace mlir::tile {

/// Parses and prints the name of a space in the syntax of an op: `over c`.
ParseResult parseSpace(OpAsmParser &parser, StringAttr &space);
void printSpace(OpAsmPrinter &printer, Operation *op, StringAttr space);

/// Parses and prints ` band(left = 12, right = 5)`. Both bounds are optional; without bounds there
/// is no `band`.
ParseResult parseBand(OpAsmParser &parser, IntegerAttr &left, IntegerAttr &right);
void printBand(OpAsmPrinter &printer, Operation *op, IntegerAttr left, IntegerAttr right);

/// Returns the degree of the pieces of tile.segments, from the last extent of their coefficients,
/// or -1 if that extent is not an integer.
int64_t degreeOfSegments(Value coefficients);
/// Returns the number of distances of a table of tile.near.
int64_t entriesOfNear(Value table);

} // namespace mlir::tile

#define GET_ATTRDEF_CLASSES
#include "dialect/Tile/TileAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/Tile/TileOps.h.inc"

namespace mlir::tile {

/// Returns the element type of a buffer or value.
inline Type elementOf(Value value) {
  if (auto buffer = dyn_cast<BufferType>(value.getType()))
    return buffer.getElementType();
  return cast<ValType>(value.getType()).getElementType();
}

/// Returns the slots of a buffer of partial sums, or null.
inline SlotsAttr slotsOf(Value buffer) {
  auto declared = buffer.getDefiningOp<BufferOp>();
  return declared ? declared.getSlotsAttr() : SlotsAttr();
}

/// Returns the table of pages of a pool, or null for other buffers.
Value tableOf(Value buffer);

/// Returns the extents under which stages access a buffer: for a pool of pages b, hkv, c and the
/// depth, and r or c for an extent of whole blocks.
SmallVector<StringAttr> accessedExtents(Value buffer);

/// The blocks of a buffer of pairs.
struct PairBlocks {
  Owner lines;         // the side whose elements are lines of memory
  int64_t line, along; // the elements of a block on that side, and on the other one
};
/// Returns the blocks of a temporary [b, hq, ceildiv(c,LINE)*LINE, ceildiv(r,ALONG)*ALONG] or, with
/// rows as lines, [b, hq, ceildiv(r,LINE)*LINE, ceildiv(c,ALONG)*ALONG]. Returns nothing for any
/// other buffer.
std::optional<PairBlocks> pairBlocksOf(Value buffer);

inline const SpaceSet &spacesOf(Value value) { return cast<ValType>(value.getType()).getSpaces(); }

/// Declares the parameters of attention: k_start, q_start, head_start, heads_total.
void declarePositions(OpBuilder &builder, Location loc);

/// Attribute of a `math.exp2` whose argument is at most 127 or NaN. A lowering need not handle
/// larger arguments.
constexpr llvm::StringLiteral kBelow127 = "tile.below_127";

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_TILE_H
