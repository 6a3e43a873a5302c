//===- ValueRotation.cpp - rotated values and outputs ---------------------===//
#include "passes/ToTile/ValueRotation.h"

using namespace mlir;
using namespace mlir::tile;

FailureOr<ValueRotation> ValueRotation::create(PlanContext &context, pe::AttentionOp op,
                                               const std::string &name) {
  auto rotates = cast<pe::RotationOpInterface>(op.getValueRotation().getDefiningOp());
  if (failed(rotates.verifyHeadDim(context.valueDim, [&] { return op.emitError(); })))
    return failure();
  ValueRotation result;
  result.context = &context;
  result.name = name + "_values";
  result.rotation = createRotation(context, rotates, result.name, {context.valueDim, "e"},
                                   {op.getQueryPositions(), op.getKeyPositions()});
  return result;
}

LogicalResult ValueRotation::prepare(Attention &a, Type inner) {
  if (failed(rotation->prepare()))
    return failure();
  const StringRef rows[] = {"b", "hq", "r", "e"}, columns[] = {"b", "hkv", "c", "e"};
  Value values = context->kept(name, columns, inner);
  rotation->emit(kKeys, a.rows.v, values);
  a.rows.v = values;
  output = a.o;
  a.o = ownOutput = context->kept(name + "_output", rows);
  if (!context->grad)
    return success();
  cotangent = a.dO;
  a.dO = ownCotangent = context->temporary("d_" + name + "_output", rows, inner);
  valueGradient = a.rows.dV;
  if (valueGradient)
    a.rows.dV = ownValueGradient = context->temporary("d_" + name, columns);
  return success();
}

void ValueRotation::emitForward() {
  rotation->turn(kQueries, ownOutput, output, name + "_rotate_output", Phase::Forward,
                 /*isBack=*/true);
}

void ValueRotation::emitBackward() {
  rotation->turn(kQueries, cotangent, ownCotangent, name + "_rotate_cotangent", Phase::Backward,
                 /*isBack=*/false);
}

void ValueRotation::finish() {
  if (valueGradient)
    rotation->turn(kKeys, ownValueGradient, valueGradient, name + "_rotate_back", Phase::Finish,
                   /*isBack=*/true);
}
