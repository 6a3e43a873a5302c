//===- PERotations.cpp - Angles of rotations ------------------------------===//

#include "dialect/PE/PERotations.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/PE/PEScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::pe;

/// Parses an optional base. It must be on the line of the op's name, because the next line may
/// begin with another value.
static ParseResult parseLearnedBase(OpAsmParser &parser,
                                    std::optional<OpAsmParser::UnresolvedOperand> &base,
                                    Type &type) {
  const char *name = parser.getNameLoc().getPointer();
  const char *next = parser.getCurrentLocation().getPointer();
  if (StringRef(name, next - name).contains('\n'))
    return success();
  OptionalParseResult operand = parser.parseOptionalOperand(base.emplace());
  if (!operand.has_value()) {
    base.reset();
    return success();
  }
  return failure(failed(*operand) || parser.parseColonType(type));
}

static void printLearnedBase(OpAsmPrinter &printer, Operation *, Value base, Type type) {
  if (base)
    printer << " " << base << " : " << type;
}

#define GET_OP_CLASSES
#include "dialect/PE/PERotations.cpp.inc"

LogicalResult mlir::pe::verifyRotaryDims(Operation *op, std::optional<int64_t> dims,
                                         StringRef label) {
  if (!dims || (*dims >= 2 && *dims % 2 == 0))
    return success();
  return op->emitOpError("expected rotary_dims to be a positive even number, found ")
         << *dims << "; dims are rotated in pairs (" << label << ")";
}

LogicalResult mlir::pe::verifyTrailing(Operation *op, bool trailing, std::optional<int64_t> dims,
                                       StringRef label) {
  if (!trailing || dims)
    return success();
  return op->emitOpError("expected rotary_dims together with trailing, found none; all dims of a "
                         "head are rotated without it (")
         << label << ")";
}

LogicalResult mlir::pe::verifyRotaryDimsOfHead(int64_t dims, int64_t headDim,
                                               std::pair<StringRef, StringRef> labels,
                                               function_ref<InFlightDiagnostic()> emitError) {
  if (dims % 2 != 0) // rotary-C3, rotation_table-C3, rotation_fn-C9
    return emitError() << "expected an even head dim to rotate in pairs, found " << headDim
                       << "; set rotary_dims to an even number below it (" << labels.first << ")";
  if (dims > headDim) // rotary-C4, rotation_table-C4, rotation_fn-C10
    return emitError() << "expected rotary_dims of at most the head dim " << headDim << ", found "
                       << dims << " (" << labels.second << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// RotaryOp
//===----------------------------------------------------------------------===//

constexpr double kDefaultBase = 10000.0;

LogicalResult RotaryOp::verify() {
  if (failed(verifyRotaryDims(*this, getRotaryDims(), "rotary-C1")) ||
      failed(verifyTrailing(*this, getTrailing(), getRotaryDims(), "rotary-C8")))
    return failure();
  if (getBase() && getLearnedBase()) // rotary-C5
    return emitOpError("expected one base, found a tensor and the attribute base (rotary-C5)");
  double base = getBase() ? getBase()->convertToDouble() : kDefaultBase;
  if (!isFiniteInF32(base) || base <= 1.0) // rotary-C2
    return emitOpError("expected base to be a finite number above 1, found ")
           << base << " (rotary-C2)";
  return verifyAxes(*this);
}

int64_t RotaryOp::getRotatedDims(int64_t headDim) { return getRotaryDims().value_or(headDim); }

int64_t RotaryOp::getFirstDim(int64_t headDim) {
  return getTrailing() ? headDim - getRotatedDims(headDim) : 0;
}

bool RotaryOp::isPerHead() {
  auto type =
      getLearnedBase() ? cast<RankedTensorType>(getLearnedBase().getType()) : RankedTensorType();
  return type && type.getRank() == 1 && type.getDimSize(0) != 1;
}

Value RotaryOp::buildFrequency(OpBuilder &builder, Location loc, const RotationPoint &point,
                               ValueRange operands) {
  Type f64 = builder.getF64Type();
  Value base;
  if (getLearnedBase()) {
    SmallVector<Value> place;
    if (isPerHead())
      place.push_back(point.head);
    else if (cast<RankedTensorType>(getLearnedBase().getType()).getRank() == 1)
      place.push_back(arith::ConstantIndexOp::create(builder, loc, 0));
    Value single = ReadOp::create(builder, loc, builder.getF32Type(), operands[0], place);
    base = arith::ExtFOp::create(builder, loc, f64, single);
  } else {
    const double number = getBase() ? getBase()->convertToDouble() : kDefaultBase;
    base = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(number));
  }
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), point.pair);
  Value pair = arith::SIToFPOp::create(builder, loc, f64, wide);
  const int64_t n = getRotatedDims(point.headDim);
  if (getRestart())
    return buildRestartedFrequency(*this, builder, loc, base, pair, n / 2);
  if (RopeScalingAttr scaling = getScalingAttr())
    return scaling.buildFrequency(builder, loc, base, pair, point.length, n);
  return buildRotaryFrequency(builder, loc, base, pair, n);
}

bool RotaryOp::isInterleavedPairs() { return getInterleaved(); }

double RotaryOp::getMagnitude(int64_t) { return getScaling() ? getScaling()->getMagnitude() : 1.0; }

SmallVector<Requirement> RotaryOp::getRequirements() {
  if (isPerHead())
    return {{"hkv", "hq", "key heads, as many as query heads because each head has its own base"}};
  if (getPositions().size() != 1)
    return {};
  const std::string what = "because '" + nameOfArgument(getPositions().front()).str() +
                           "' holds the positions of both; give two tensors to pe.rotary";
  return {{"r", "c", "queries, as many as keys " + what},
          {"c", "r", "keys, as many as queries " + what}};
}

LogicalResult RotaryOp::verifyHeadDim(int64_t headDim,
                                      function_ref<InFlightDiagnostic()> emitError) {
  const int64_t dims = getRotatedDims(headDim);
  if (failed(verifyRotaryDimsOfHead(dims, headDim, {"rotary-C3", "rotary-C4"}, emitError)))
    return failure();
  const bool isStretched = getScaling() && (getScaling()->getKind() == RopeScalingKind::Ntk ||
                                            getScaling()->getKind() == RopeScalingKind::DynamicNtk);
  if (isStretched && dims < 4) // rotary-C6
    return emitError() << "expected at least 4 rotated dims for scaling by ntk, found " << dims
                       << " (rotary-C6)";
  const int64_t factors = getScaling() && getScaling()->getShortFactor()
                              ? static_cast<int64_t>(getScaling()->getShortFactor().size())
                              : dims / 2;
  if (factors != dims / 2) // rotary-C7
    return emitError() << "expected a factor for each of the " << dims / 2
                       << " rotated pairs of a head of " << headDim << " dims, found " << factors
                       << "; rotary_dims = " << 2 * factors
                       << " rotates as many pairs as there are factors (rotary-C7)";
  return verifySections(*this, dims / 2, emitError);
}

//===----------------------------------------------------------------------===//
// RotationTableOp
//===----------------------------------------------------------------------===//

LogicalResult RotationTableOp::verify() {
  if (failed(verifyRotaryDims(*this, getRotaryDims(), "rotation_table-C1")) ||
      failed(verifyTrailing(*this, getTrailing(), getRotaryDims(), "rotation_table-C6")))
    return failure();
  auto cosines = cast<RankedTensorType>(getCosines().getType());
  auto sines = cast<RankedTensorType>(getSines().getType());
  const bool fitPairs =
      !getRotaryDims() ||
      llvm::all_of(ArrayRef<RankedTensorType>{cosines, sines}, [&](RankedTensorType type) {
        const int64_t columns = type.getShape().back();
        return ShapedType::isDynamic(columns) || columns == *getRotaryDims() / 2;
      });
  if (failed(verifyCompatibleShape(cosines, sines)) || !fitPairs) // rotation_table-C2
    return emitOpError("expected cosines and sines of one shape, a column per pair of dims, found ")
           << cosines << " and " << sines << " (rotation_table-C2)";
  return success();
}

int64_t RotationTableOp::getRotatedDims(int64_t headDim) {
  return getRotaryDims().value_or(headDim);
}

int64_t RotationTableOp::getFirstDim(int64_t headDim) {
  return getTrailing() ? headDim - getRotatedDims(headDim) : 0;
}

Value RotationTableOp::buildFrequency(OpBuilder &, Location, const RotationPoint &, ValueRange) {
  llvm_unreachable("a rotation with tables has no frequencies");
}

RotationTensors RotationTableOp::getTables() { return {getCosines(), getSines()}; }

bool RotationTableOp::isInterleavedPairs() { return getInterleaved(); }

/// Returns the static size of an axis, counted from the end, of either tensor; both tensors have
/// the same.
static std::optional<std::string> knownSize(RotationTableOp op, int64_t axisFromEnd) {
  for (Value tensor : {op.getCosines(), op.getSines()}) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
    if (int64_t size = shape[shape.size() - axisFromEnd]; !ShapedType::isDynamic(size))
      return std::to_string(size);
  }
  return std::nullopt;
}

static std::string rowsOf(RotationTableOp op) {
  return knownSize(op, 2).value_or(nameOfArgument(op.getCosines()).str() + "_positions");
}

SmallVector<std::string> RotationTableOp::getTensorExtents(Value) {
  SmallVector<std::string> extents = {
      rowsOf(*this), knownSize(*this, 1).value_or(
                         getRotaryDims() ? std::to_string(*getRotaryDims() / 2) : "ceildiv(d,2)")};
  if (getTables().hasBatch())
    extents.insert(extents.begin(), knownSize(*this, 3).value_or("b"));
  return extents;
}

SmallVector<Requirement> RotationTableOp::getRequirements() {
  const std::string names =
      "'" + nameOfArgument(getCosines()).str() + "' and '" + nameOfArgument(getSines()).str() + "'";
  SmallVector<Requirement> all = {
      {rowsOf(*this), "max(1, max(q_start + r, k_start + c))",
       "rows of tensors " + names + ", one for every position of the call"},
      {"k_start", "0", "k_start, the first position that tensors " + names + " are read at"}};
  std::optional<std::string> batch = getTables().hasBatch() ? knownSize(*this, 3) : std::nullopt;
  if (batch) {
    const std::string what = "batch entries of queries, as many as those of tensors " + names;
    all.push_back({*batch, "b", what});
    all.push_back({"b", *batch, what});
  }
  return all;
}

LogicalResult RotationTableOp::verifyHeadDim(int64_t headDim,
                                             function_ref<InFlightDiagnostic()> emitError) {
  const int64_t dims = getRotatedDims(headDim);
  if (failed(verifyRotaryDimsOfHead(dims, headDim, {"rotation_table-C3", "rotation_table-C4"},
                                    emitError)))
    return failure();
  for (Value tensor : {getCosines(), getSines()})
    if (int64_t pairs = cast<RankedTensorType>(tensor.getType()).getShape().back();
        !ShapedType::isDynamic(pairs) && pairs != dims / 2) // rotation_table-C5
      return emitError() << "expected a column for each of the " << dims / 2
                         << " pairs of dims, found " << pairs << " (rotation_table-C5)";
  return success();
}
