//===- PEScalars.cpp - Scalar ops used inside regions ---------------------===//

#include "dialect/PE/PEScalars.h"

#include "dialect/PE/PEMlpLayers.h"
#include "mlir/IR/Matchers.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEScalars.cpp.inc"

LogicalResult ReadOp::verify() {
  auto type = cast<RankedTensorType>(getSource().getType());
  if (static_cast<int64_t>(getIndices().size()) != type.getRank()) // read-C1
    return emitOpError("expected one index per dimension of ")
           << type << ", found " << getIndices().size() << " (read-C1)";
  for (auto [dim, index] : llvm::enumerate(getIndices())) {
    APInt value;
    if (type.isDynamicDim(dim) || !matchPattern(index, m_ConstantInt(&value)))
      continue;
    if (value.getSExtValue() < 0 || value.getSExtValue() >= type.getDimSize(dim)) // read-C2
      return emitOpError("expected index ") << dim << " to be in [0, " << type.getDimSize(dim)
                                            << "), found " << value.getSExtValue() << " (read-C2)";
  }
  return success();
}

/// An element of a constant: of a splat any, else the one at constant indices, clamped.
OpFoldResult ReadOp::fold(FoldAdaptor adaptor) {
  auto constant = dyn_cast_or_null<DenseElementsAttr>(adaptor.getSource());
  if (!constant || constant.empty())
    return {};
  if (constant.isSplat())
    return constant.getSplatValue<Attribute>();
  int64_t element = 0;
  for (auto [index, extent] :
       llvm::zip_equal(adaptor.getIndices(), constant.getType().getShape())) {
    auto known = dyn_cast_or_null<IntegerAttr>(index);
    if (!known)
      return {};
    element = element * extent + std::clamp<int64_t>(known.getInt(), 0, extent - 1);
  }
  return constant.getValues<Attribute>()[element];
}

LogicalResult AxisSizeOp::verify() {
  auto type = cast<RankedTensorType>(getSource().getType());
  const auto axis = static_cast<int64_t>(getAxis());
  if (axis < 0 || axis >= type.getRank()) // axis_size-C1
    return emitOpError("expected an axis of ")
           << type << " in [0, " << type.getRank() << "), found " << axis << " (axis_size-C1)";
  return success();
}

//===----------------------------------------------------------------------===//
// CosineSumEvalOp
//===----------------------------------------------------------------------===//

LogicalResult mlir::pe::verifyCosineSum(Operation *op, int64_t terms, const APFloat &base) {
  constexpr int64_t kMaxTerms = 4096; // each costs one cosine per pair in the general form
  if (terms < 1 || terms > kMaxTerms) // cosine_sum-C1
    return op->emitOpError("expected terms between 1 and ")
           << kMaxTerms << ", found " << terms << " (cosine_sum-C1)";
  double number = base.convertToDouble();
  if (!isFiniteInF32(number) || number <= 0.0) // cosine_sum-C2
    return op->emitOpError("expected base to be a finite number above 0, found ")
           << number << " (cosine_sum-C2)";
  return success();
}

LogicalResult CosineSumEvalOp::verify() { return verifyCosineSum(*this, getTerms(), getBase()); }

OpFoldResult CosineSumEvalOp::fold(FoldAdaptor adaptor) {
  auto x = dyn_cast_or_null<FloatAttr>(adaptor.getX());
  if (!x)
    return {};
  const int64_t terms = getTerms();
  const double base = getBase().convertToDouble();
  double sum = 0;
  for (int64_t k = 1; k <= terms; ++k)
    sum += std::cos(x.getValueAsDouble() * std::pow(base, -static_cast<double>(k) / terms));
  return FloatAttr::get(x.getType(), sum);
}

//===----------------------------------------------------------------------===//
// MlpEvalOp
//===----------------------------------------------------------------------===//

LogicalResult MlpEvalOp::verify() {
  if (failed(verifyMlpTolerance(*this, getTolerance())))
    return failure();
  return verifyMlpLayers(*this, getLayers());
}

Value MlpEvalOp::getCoordinate() { return getX(); }

Value MlpEvalOp::getHeadIndex() { return getHead(); }

double MlpEvalOp::getLogitTolerance() { return getTolerance().convertToDouble(); }

SmallVector<ChainLink> MlpEvalOp::getChain() {
  SmallVector<ChainLink> chain;
  ValueRange layers = getLayers();
  for (size_t i = 0; i < layers.size(); i += 2) {
    const bool isLast = i + 2 == layers.size();
    chain.push_back({layers[i], layers[i + 1], isLast ? getFinalActivation() : getActivation()});
  }
  return chain;
}
