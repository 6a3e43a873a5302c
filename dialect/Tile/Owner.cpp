//===- Owner.cpp - the outer loop of a stage with a stream ----------------===//
#include "dialect/Tile/Owner.h"

using namespace mlir;
using namespace mlir::tile;

Owner mlir::tile::getOwner(StageOp stage) {
  ScheduleAttrInterface schedule = stage.getScheduleAttr();
  return schedule ? schedule.getOwner() : Owner::Rows;
}
