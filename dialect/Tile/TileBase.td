//===- TileBase.td - The base class of the tile ops ------------------------===//
#ifndef PE_DIALECT_TILE_BASE
#define PE_DIALECT_TILE_BASE

include "TileTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif // PE_DIALECT_TILE_BASE
