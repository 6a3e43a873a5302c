//===- MaskFunction.cpp - the code of a mask per pair ---===//
#include "passes/ToTile/MaskFunction.h"

#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::tile;

Value MaskFunction::emit(TileBuilder &t) {
  Block &region = op.getBody().front();
  return t.map(t.pairPoint(), {"r", "c"}, [&](Scalar &s, ValueRange in) {
    TileParameters parameters(context, region, op.getCaptures());
    IRMapping mapping;
    pe::mapPoint(mapping, region, {in[0], in[1], in[2], in[3]});
    Value root = cast<pe::YieldOp>(region.getTerminator()).getValues()[0];
    Value isKept = pe::emitScalar(root, mapping, s, parameters);
    return s.select(isKept, s.number(1.0), s.number(0.0));
  });
}
