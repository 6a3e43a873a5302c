//===- MaskFunction.cpp - scalar code of a mask, evaluated per pair -------===//
#include "passes/ToTile/MaskFunction.h"

#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::tile;

Value MaskFunction::emitAt(Scalar &s, const pe::PairPoint &point) {
  Block &region = op.getBody().front();
  TileParameters parameters(context, region, op.getCaptures());
  IRMapping mapping;
  pe::mapPoint(mapping, region, point);
  Value root = cast<pe::YieldOp>(region.getTerminator()).getValues()[0];
  return pe::emitScalar(root, mapping, s, parameters);
}

Value MaskFunction::emit(TileBuilder &t) {
  return t.map(t.pairPoint(), {"r", "c"}, [&](Scalar &s, ValueRange in) {
    Value isKept = emitAt(s, {in[0], in[1], in[2], in[3]});
    return s.select(isKept, s.number(1.0), s.number(0.0));
  });
}
