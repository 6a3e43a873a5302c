//===- TileInterfaces.td - Interfaces of attributes -----------------------===//
#ifndef PE_DIALECT_TILE_INTERFACES
#define PE_DIALECT_TILE_INTERFACES

include "mlir/IR/OpBase.td"

def Tile_ScheduleAttrInterface : AttrInterface<"ScheduleAttrInterface"> {
  let cppNamespace = "::mlir::tile";
  let description = [{
    The choices of a machine's schedule for a stage. They decide which blocks are computed, in which
    order and where; no result depends on them except by rounding.
  }];
  let methods = [
    InterfaceMethod<"Returns the side whose blocks are the outer loop of the stream.",
                    "::mlir::tile::Owner", "getOwner">,
    InterfaceMethod<"Returns the number of keys of a block, or nothing without a stream.",
                    "::std::optional<int64_t>", "getKeyBlock">
  ];
}

#endif // PE_DIALECT_TILE_INTERFACES
