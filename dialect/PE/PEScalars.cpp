//===- PEScalars.cpp - Scalar ops used inside regions ---------------------===//

#include "dialect/PE/PEScalars.h"

#include "dialect/Math/ScalarOps.h"
#include "dialect/PE/PEMlpLayers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
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

/// Folds a read of a splat, or a read of a constant at constant indices, which are clamped.
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
  constexpr int64_t kMaxTerms = 4096; // each term costs one cosine per pair in the general class
  if (terms < 1 || terms > kMaxTerms) // cosine_sum-C1
    return op->emitOpError("expected terms between 1 and ")
           << kMaxTerms << ", found " << terms << " (cosine_sum-C1)";
  double number = base.convertToDouble();
  if (!isFiniteInF32(number) || number <= 0.0) // cosine_sum-C2
    return op->emitOpError("expected base to be a finite number above 0, found ")
           << number << " (cosine_sum-C2)";
  return success();
}

LogicalResult DropoutFactorOp::verify() {
  const double p = getProbability().convertToDouble();
  if (p >= 0.0 && p < 1.0) // dropout_factor-C1
    return success();
  return emitOpError("expected a probability of dropout in [0, 1), found ")
         << p << " (dropout_factor-C1)";
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
// SumOp
//===----------------------------------------------------------------------===//

Value SumOp::getSummand() {
  return cast<YieldOp>(getBody().front().getTerminator()).getValues()[0];
}

Value SumOp::getCounted() {
  std::optional<ArrayRef<int64_t>> extent = getExtent();
  return extent ? getInputs()[extent->front()] : Value();
}

void SumOp::hoistInvariants() {
  Block &block = getBody().front();
  OpBuilder builder(getOperation());
  IRMapping outside;
  outside.map(block.getArguments().drop_front(), getInputs());
  llvm::SetVector<Operation *> invariant;
  for (Operation &op : block.without_terminator())
    if (llvm::all_of(op.getOperands(), [&](Value v) { return outside.contains(v); })) {
      invariant.insert(&op);
      builder.clone(op, outside);
    }
  for (Operation *op : invariant) {
    Value value = op->getResult(0);
    auto isElsewhere = [&](OpOperand &use) { return !invariant.contains(use.getOwner()); };
    if (op->hasTrait<OpTrait::ConstantLike>() || llvm::none_of(value.getUses(), isElsewhere))
      continue;
    (*this)->insertOperands(getNumOperands(), outside.lookup(value));
    value.replaceUsesWithIf(block.addArgument(value.getType(), op->getLoc()), isElsewhere);
  }
}

void SumOp::dropUnusedInputs() {
  Block &block = getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned n = getInputs().size(); n-- > 0;) {
    std::optional<ArrayRef<int64_t>> extent = getExtent();
    if (!block.getArgument(n + 1).use_empty() || (extent && extent->front() == n))
      continue;
    if (extent && extent->front() > n)
      setExtent(ArrayRef<int64_t>{extent->front() - 1, extent->back()});
    block.eraseArgument(n + 1);
    (*this)->eraseOperand(n);
  }
}

LogicalResult SumOp::verify() {
  if (getCount().has_value() == getExtent().has_value()) // sum-C1
    return emitOpError("expected either a count or an extent, found ")
           << (getCount() ? "both" : "neither") << " (sum-C1)";
  if (getCount() && (*getCount() < 0 || *getCount() > kMaxCount)) // sum-C1
    return emitOpError("expected a count between 0 and ")
           << kMaxCount << ", found " << *getCount() << " (sum-C1)";
  if (!getExtent())
    return success();
  ArrayRef<int64_t> extent = *getExtent();
  const bool isInput =
      extent.size() == 2 && extent[0] >= 0 && extent[0] < static_cast<int64_t>(getInputs().size());
  auto tensor =
      isInput ? dyn_cast<RankedTensorType>(getInputs()[extent[0]].getType()) : RankedTensorType();
  if (!tensor || extent[1] < 0 || extent[1] >= tensor.getRank()) // sum-C2
    return emitOpError("expected extent to be the index of a tensor input and one of its axes, "
                       "found [")
           << extent << "] (sum-C2)";
  return success();
}

LogicalResult SumOp::verifyRegions() {
  Block &block = getBody().front();
  SmallVector<Type> types = {IndexType::get(getContext())};
  llvm::append_range(types, getInputs().getTypes());
  if (!llvm::equal(block.getArgumentTypes(), types)) // sum-C3
    return emitOpError("expected the region to have arguments of the types ")
           << TypeRange(types) << ", found " << block.getArgumentTypes() << " (sum-C3)";
  for (Operation &op : block.without_terminator()) {
    if (isa<PiecewiseOpInterface>(op)) // sum-C4
      return op.emitOpError("expected no network inside the sum (sum-C4)");
    if (failed(verifyScalarOp(op)))
      return failure();
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1 || !yield.getValues()[0].getType().isF32()) // sum-C4
    return emitOpError("expected the region to yield one f32 (sum-C4)");
  return success();
}

LogicalResult mlir::pe::verifyScalarOp(Operation &op, StringRef label) {
  StringRef name = op.getName().getStringRef();
  const bool isPE = isa<ReadOp, AxisSizeOp, CosineSumEvalOp, SumOp, GlobalHeadOp, HeadsTotalOp,
                        PiecewiseOpInterface>(op);
  const bool isKnown =
      isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()) || isPE;
  const bool areNumbers =
      llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
  if (!isKnown || !areNumbers) // C4
    return op.emitError("expected ops of arith, math or pe on single numbers, found '")
           << name
           << "'; a region is scalar code; read tensors with pe.read "
              "("
           << label << "-C4)";
  if (!isPE && !::pe::math::findScalarOp(name)) // C5
    return op.emitError("expected an op of arith or math that every target has (docs/spec.md lists "
                        "them), found '")
           << name << "' (" << label << "-C5)";
  for (Type type : op.getResultTypes())
    if (!type.isF32() && !type.isF64() && !type.isIndex() && !type.isInteger(1) &&
        !type.isInteger(8) && !type.isInteger(16) && !type.isInteger(32) &&
        !type.isInteger(64)) // C6
      return op.emitError(
                 "expected numbers of type f32, f64, i1, i8, i16, i32, i64 or index, found ")
             << type << "; compute in a wider type (" << label << "-C6)";
  return success();
}

Value mlir::pe::outsideOfSums(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto sum = dyn_cast_or_null<SumOp>(argument.getOwner()->getParentOp());
    if (!sum || argument.getArgNumber() == 0) // the index of the sum
      break;
    value = sum.getInputs()[argument.getArgNumber() - 1];
  }
  return value;
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
