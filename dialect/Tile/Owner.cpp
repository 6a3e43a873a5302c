//===- Owner.cpp - the outer loop of a stage with a stream ----------------===//
#include "dialect/Tile/Owner.h"

using namespace mlir;
using namespace mlir::tile;

Owner mlir::tile::getOwner(StageOp stage) {
  auto owner = stage->getAttrOfType<StringAttr>(kOwnerAttribute);
  return owner && owner == "columns" ? Owner::Columns : Owner::Rows;
}

void mlir::tile::setOwner(StageOp stage, Owner owner) {
  stage->setAttr(kOwnerAttribute,
                 StringAttr::get(stage.getContext(), owner == Owner::Rows ? "rows" : "columns"));
}
