//===- PEMlpLayers.cpp - Shapes of a small MLP ----------------------------===//

#include "dialect/PE/PEMlpLayers.h"

#include "mlir/IR/BuiltinTypes.h"
#include <cmath>

using namespace mlir;

/// Returns true if the sizes may be equal. Dynamic sizes are checked when a call binds the tensors.
static bool sizesAgree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

LogicalResult mlir::pe::verifyMlpTolerance(Operation *op, const APFloat &tolerance) {
  const double number = tolerance.convertToDouble();
  if (std::isfinite(number) && number > 0) // mlp-C6
    return success();
  return op->emitOpError("expected tolerance to be a finite number above 0, found ")
         << number << " (mlp-C6)";
}

LogicalResult mlir::pe::verifyMlpLayers(Operation *op, ValueRange layers) {
  if (layers.empty() || layers.size() % 2 != 0) // mlp-C1
    return op->emitOpError("expected pairs of a weight and a bias, found ")
           << layers.size() << " tensors (mlp-C1)";
  int64_t width = 1;
  for (size_t i = 0; i < layers.size(); i += 2) {
    size_t layer = i / 2 + 1;
    auto weight = cast<RankedTensorType>(layers[i].getType());
    auto bias = cast<RankedTensorType>(layers[i + 1].getType());
    int64_t rank = i == 0 ? 1 : 2;
    if (weight.getRank() != rank) // mlp-C2
      return op->emitOpError("expected the weight of layer ")
             << layer << " to have rank " << rank << ", found " << weight << " (mlp-C2)";
    if (i > 0 && !sizesAgree(weight.getDimSize(1), width)) // mlp-C3
      return op->emitOpError("expected the weight of layer ")
             << layer << " to have " << width << " columns, one per unit of the layer before it, "
             << "found " << weight << " (mlp-C3)";
    if (bias.getRank() != 1) // mlp-C4
      return op->emitOpError("expected the bias of layer ")
             << layer << " to have rank 1, found " << bias << " (mlp-C4)";
    if (!sizesAgree(bias.getDimSize(0), weight.getDimSize(0))) // mlp-C5
      return op->emitOpError("expected the bias of layer ")
             << layer << " to have " << weight.getDimSize(0) << " elements like the rows of "
             << weight << ", found " << bias << " (mlp-C5)";
    width = weight.getDimSize(0);
  }
  return success();
}
