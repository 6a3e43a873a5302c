//===- Variation.cpp - dependence of map values on row and column ---------===//
#include "passes/Scalar/Variation.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

static unsigned variationOf(const SpaceSet &spaces) {
  if (spaces.isEmpty())
    return kNothing;
  return isRow(spaces) ? kRow : isColumn(spaces) ? kColumn : kBoth;
}

void RegionVariation::add(MapOp map) {
  if (!known.insert(map).second)
    return;
  Block &body = map.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), map.getInputs()))
    variations[argument] = variationOf(spacesOf(input));
  add(body);
}

/// Adds the values of a block. Assumes that loop-carried values and values from memory depend on
/// both.
void RegionVariation::add(Block &block) {
  for (Operation &op : block.without_terminator()) {
    unsigned variation = isa<scf::ForOp, memref::LoadOp>(op) ? kBoth : kNothing;
    for (Value operand : op.getOperands())
      variation |= of(operand);
    for (Value result : op.getResults())
      variations[result] = variation;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (Value carried : loop.getRegionIterArgs())
        variations[carried] = kBoth;
      add(*loop.getBody());
    }
  }
}
