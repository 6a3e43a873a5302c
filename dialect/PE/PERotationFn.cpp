//===- PERotationFn.cpp - Frequencies written as scalar code --------------===//
//
// Verifies constraints rotation_fn-C1 to rotation_fn-C14 of docs/spec.md (PERegions.h has C1 to
// C6).
//
// The index at which an axis of a capture is read determines its size:
//
//   base[h]        one entry per head
//   factor[p]      one entry per rotated pair
//   mix[h, p]      both
//   w[k] in a sum  neither: its size is static or named by pe.axes
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/PE/PERegions.h"
#include "dialect/PE/PERotations.h"
#include "dialect/PE/PEScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::pe;

constexpr RegionForm kForm = {"rotation_fn", RegionForm::Point::Dims};

ParseResult RotationFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(RotationType::get(parser.getContext()));
  return parseScalarRegion(parser, result, kForm);
}

void RotationFnOp::print(OpAsmPrinter &printer) { printScalarRegion(printer, *this); }

LogicalResult RotationFnOp::verify() {
  if (failed(verifyRegionArguments(*this, kForm)) ||
      failed(verifyRotaryDims(*this, getRotaryDims(), "rotation_fn-C8")) ||
      failed(verifyTrailing(*this, getTrailing(), getRotaryDims(), "rotation_fn-C14")))
    return failure();
  if (std::optional<APFloat> factor = getMagnitude();
      factor && !isFiniteInF32(factor->convertToDouble())) // rotation_fn-C11
    return emitOpError("expected magnitude to be finite, found ")
           << factor->convertToDouble() << " (rotation_fn-C11)";
  return success();
}

LogicalResult RotationFnOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (isa<PiecewiseOpInterface>(op)) // rotation_fn-C7
      return op.emitOpError("expected no network in a rotation (rotation_fn-C7)");
  if (failed(verifyRegionCode(*this, kForm)))
    return failure();
  for (auto [number, capture] : llvm::enumerate(getCaptures()))
    for (int64_t axis = 0, rank = cast<RankedTensorType>(capture.getType()).getRank(); axis < rank;
         ++axis)
      if (!findIndexOfAxis(*this, number, axis)) // rotation_fn-C12
        return emitOpError("expected axis ")
               << axis << " of capture " << number
               << " to be read at h or at p, found both; use two tensors (rotation_fn-C12)";
  return success();
}

//===----------------------------------------------------------------------===//
// Axes of captures
//===----------------------------------------------------------------------===//

std::optional<AxisIndex> mlir::pe::findIndexOfAxis(RotationFnOp op, unsigned capture,
                                                   int64_t axis) {
  Block &body = op.getBody().front();
  Value head = body.getArgument(0), pair = body.getArgument(1);
  Value tensor = body.getArgument(static_cast<unsigned>(kForm.names().size()) + capture);
  bool atHead = false, atPair = false, elsewhere = false;
  op.getBody().walk([&](ReadOp read) {
    if (outsideOfSums(read.getSource()) != tensor)
      return;
    Value index = outsideOfSums(read.getIndices()[axis]);
    (index == head ? atHead : index == pair ? atPair : elsewhere) = true;
  });
  if (atHead && atPair)
    return std::nullopt;
  if (elsewhere || !(atHead || atPair))
    return AxisIndex::Other;
  return atHead ? AxisIndex::Head : AxisIndex::Pair;
}

static std::string pairsOf(RotationFnOp op) {
  return op.getRotaryDims() ? std::to_string(*op.getRotaryDims() / 2) : "ceildiv(d,2)";
}

/// Returns the size of an axis of a capture as a size expression.
static std::string extentOf(RotationFnOp op, unsigned capture, int64_t axis) {
  Value tensor = op.getCaptures()[capture];
  const int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(axis);
  if (!ShapedType::isDynamic(size))
    return std::to_string(size);
  if (ArrayAttr axes = axesOf(tensor))
    return extentOfAxis(cast<StringAttr>(axes[axis]).getValue());
  return findIndexOfAxis(op, capture, axis) == AxisIndex::Pair ? pairsOf(op) : "hq";
}

SmallVector<std::string> RotationFnOp::getTensorExtents(Value operand) {
  const auto capture = static_cast<unsigned>(llvm::find(getCaptures(), operand).getIndex());
  SmallVector<std::string> extents;
  for (int64_t axis = 0, rank = cast<RankedTensorType>(operand.getType()).getRank(); axis < rank;
       ++axis)
    extents.push_back(extentOf(*this, capture, axis));
  return extents;
}

/// Returns true if the head is used for anything except reading an axis of size 1.
bool RotationFnOp::isPerHead() {
  Value head = getBody().getArgument(0);
  return llvm::any_of(head.getUses(), [](OpOperand &use) {
    auto read = dyn_cast<ReadOp>(use.getOwner());
    if (!read)
      return true;
    const int64_t axis = static_cast<int64_t>(use.getOperandNumber()) - 1; // after the tensor
    return cast<RankedTensorType>(read.getSource().getType()).getDimSize(axis) != 1;
  });
}

namespace {
/// A size and its description.
struct NamedSize {
  std::string size, what;
};
} // namespace

/// Requires that `a` is at least `b`. The message names the size that depends on the call: if `a`
/// is a number, it is an upper bound on `b`.
static Requirement requireAtLeast(const NamedSize &a, const NamedSize &b) {
  const bool isNumber = llvm::all_of(a.size, llvm::isDigit);
  const auto &[given, other] = isNumber ? std::tie(b.what, a.what) : std::tie(a.what, b.what);
  return {a.size, b.size, given + ", as many as " + other};
}

SmallVector<Requirement> RotationFnOp::getRequirements() {
  SmallVector<Requirement> all;
  if (isPerHead())
    all.push_back(
        {"hkv", "hq", "key heads, as many as query heads because frequencies depend on the head"});
  for (auto [number, capture] : llvm::enumerate(getCaptures()))
    for (auto [axis, extent] : llvm::enumerate(getTensorExtents(capture))) {
      const AxisIndex index = *findIndexOfAxis(*this, number, static_cast<int64_t>(axis));
      const std::string wanted = index == AxisIndex::Head ? "hq" : pairsOf(*this);
      const bool isShared = index == AxisIndex::Head && extent == "1";
      if (index == AxisIndex::Other || extent == wanted || isShared)
        continue;
      const std::string counted = index == AxisIndex::Head ? "heads" : "pairs of dims";
      const std::string entries = "entries of tensor '" + nameOfArgument(capture).str() + "'";
      all.push_back(requireAtLeast({extent, entries}, {wanted, counted}));
      all.push_back(requireAtLeast({wanted, counted}, {extent, entries}));
    }
  return all;
}

//===----------------------------------------------------------------------===//
// RotationOpInterface
//===----------------------------------------------------------------------===//

int64_t RotationFnOp::getRotatedDims(int64_t headDim) { return getRotaryDims().value_or(headDim); }

int64_t RotationFnOp::getFirstDim(int64_t headDim) {
  return getTrailing() ? headDim - getRotatedDims(headDim) : 0;
}

bool RotationFnOp::isInterleavedPairs() { return getInterleaved(); }

double RotationFnOp::getMagnitude(int64_t) {
  return getMagnitude() ? getMagnitude()->convertToDouble() : 1.0;
}

Value RotationFnOp::buildFrequency(OpBuilder &builder, Location loc, const RotationPoint &point,
                                   ValueRange operands) {
  Value count = arith::ConstantIndexOp::create(builder, loc, getRotatedDims(point.headDim) / 2);
  Value frequency = cloneRegionCode(builder, getBody(), {point.head, point.pair, count}, operands);
  Type f64 = builder.getF64Type();
  return frequency.getType() == f64
             ? frequency
             : arith::ExtFOp::create(builder, loc, f64, frequency).getResult();
}

LogicalResult RotationFnOp::verifyHeadDim(int64_t headDim,
                                          function_ref<InFlightDiagnostic()> emitError) {
  const int64_t dims = getRotatedDims(headDim);
  if (failed(
          verifyRotaryDimsOfHead(dims, headDim, {"rotation_fn-C9", "rotation_fn-C10"}, emitError)))
    return failure();
  for (auto [number, capture] : llvm::enumerate(getCaptures()))
    for (auto [axis, size] : llvm::enumerate(cast<RankedTensorType>(capture.getType()).getShape()))
      if (!ShapedType::isDynamic(size) && size != dims / 2 &&
          findIndexOfAxis(*this, number, static_cast<int64_t>(axis)) ==
              AxisIndex::Pair) // rotation_fn-C13
        return emitError() << "expected axis " << axis << " of capture " << number
                           << ", which is read at p, to have an entry for each of the " << dims / 2
                           << " pairs of dims, found " << size << " (rotation_fn-C13)";
  return success();
}
