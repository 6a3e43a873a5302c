//===- PERotations.cpp - Angles of rotations ------------------------------===//

#include "dialect/PE/PERotations.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/PE/PEScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::pe;

/// The operand stands on the line of the op's name: the next line may begin with a value of its
/// own.
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

/// `label` is that of the op's constraint on its number of dims.
static LogicalResult verifyDims(Operation *op, std::optional<int64_t> dims, StringRef label) {
  if (!dims || (*dims >= 2 && *dims % 2 == 0))
    return success();
  return op->emitOpError("expected rotary_dims to be a positive even number, found ")
         << *dims << "; dims turn in pairs (" << label << ")";
}

/// `op` is "rotary" or "rotation_table", in labels.
static LogicalResult verifyDimsOfHead(int64_t dims, int64_t headDim, StringRef op,
                                      function_ref<InFlightDiagnostic()> emitError) {
  if (dims % 2 != 0) // rotary-C3, rotation_table-C3
    return emitError() << "expected an even head dim to rotate in pairs, found " << headDim
                       << "; give rotary_dims an even number below it (" << op << "-C3)";
  if (dims > headDim) // rotary-C4, rotation_table-C4
    return emitError() << "expected rotary_dims of at most the head dim " << headDim << ", found "
                       << dims << " (" << op << "-C4)";
  return success();
}

//===----------------------------------------------------------------------===//
// RotaryOp
//===----------------------------------------------------------------------===//

constexpr double kDefaultBase = 10000.0;

LogicalResult RotaryOp::verify() {
  if (failed(verifyDims(*this, getRotaryDims(), "rotary-C1")))
    return failure();
  if (getBase() && getLearnedBase()) // rotary-C5
    return emitOpError("expected one base, found a tensor and the attribute base (rotary-C5)");
  double base = getBase() ? getBase()->convertToDouble() : kDefaultBase;
  if (!isFiniteInF32(base) || base <= 1.0) // rotary-C2
    return emitOpError("expected base to be a finite number above 1, found ")
           << base << " (rotary-C2)";
  return success();
}

int64_t RotaryOp::getRotatedDims(int64_t headDim) { return getRotaryDims().value_or(headDim); }

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
  if (RopeScalingAttr scaling = getScalingAttr())
    return scaling.buildFrequency(builder, loc, base, pair, point.length, n);
  return buildRotaryFrequency(builder, loc, base, pair, n);
}

bool RotaryOp::isInterleavedPairs() { return getInterleaved(); }

double RotaryOp::getMagnitude(int64_t) { return getScaling() ? getScaling()->getMagnitude() : 1.0; }

SmallVector<Requirement> RotaryOp::getRequirements() {
  if (!isPerHead())
    return {};
  return {{"hkv", "hq", "key heads, as many as query heads where each has a base of its own"}};
}

LogicalResult RotaryOp::verifyHeadDim(int64_t headDim,
                                      function_ref<InFlightDiagnostic()> emitError) {
  const int64_t dims = getRotatedDims(headDim);
  if (failed(verifyDimsOfHead(dims, headDim, "rotary", emitError)))
    return failure();
  const bool isStretched = getScaling() && (getScaling()->getKind() == RopeScalingKind::Ntk ||
                                            getScaling()->getKind() == RopeScalingKind::DynamicNtk);
  if (isStretched && dims < 4) // rotary-C6
    return emitError() << "expected at least 4 rotated dims for scaling by ntk, found " << dims
                       << " (rotary-C6)";
  return success();
}

//===----------------------------------------------------------------------===//
// RotationTableOp
//===----------------------------------------------------------------------===//

LogicalResult RotationTableOp::verify() {
  if (failed(verifyDims(*this, getRotaryDims(), "rotation_table-C1")))
    return failure();
  auto cosines = cast<RankedTensorType>(getCosines().getType());
  auto sines = cast<RankedTensorType>(getSines().getType());
  auto differ = [](int64_t a, int64_t b) {
    return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b;
  };
  const int64_t pairs = getRotaryDims() ? *getRotaryDims() / 2 : ShapedType::kDynamic;
  for (RankedTensorType type : {cosines, sines})
    if (differ(type.getDimSize(0), cosines.getDimSize(0)) ||
        differ(type.getDimSize(1), cosines.getDimSize(1)) ||
        differ(type.getDimSize(1), pairs)) // rotation_table-C2
      return emitOpError(
                 "expected cosines and sines of one shape, a column per pair of dims, found ")
             << cosines << " and " << sines << " (rotation_table-C2)";
  return success();
}

int64_t RotationTableOp::getRotatedDims(int64_t headDim) {
  return getRotaryDims().value_or(headDim);
}

Value RotationTableOp::buildFrequency(OpBuilder &, Location, const RotationPoint &, ValueRange) {
  llvm_unreachable("a rotation with tables has no frequencies");
}

RotationTensors RotationTableOp::getTables() { return {getCosines(), getSines()}; }

bool RotationTableOp::isInterleavedPairs() { return getInterleaved(); }

/// The number of rows: one size for both tensors, which therefore agree.
static std::string rowsOf(RotationTableOp op) {
  for (Value tensor : {op.getCosines(), op.getSines()})
    if (auto type = cast<RankedTensorType>(tensor.getType()); !type.isDynamicDim(0))
      return std::to_string(type.getDimSize(0));
  return nameOfArgument(op.getCosines()).str() + "_positions";
}

SmallVector<std::string> RotationTableOp::getTensorExtents(Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  std::string pairs = getRotaryDims() ? std::to_string(*getRotaryDims() / 2) : "ceildiv(d,2)";
  return {rowsOf(*this), type.isDynamicDim(1) ? pairs : std::to_string(type.getDimSize(1))};
}

SmallVector<Requirement> RotationTableOp::getRequirements() {
  const std::string names =
      "'" + nameOfArgument(getCosines()).str() + "' and '" + nameOfArgument(getSines()).str() + "'";
  return {{rowsOf(*this), "max(1, max(q_start + r, k_start + c))",
           "rows of tensors " + names + ", one for every position of the call"},
          {"k_start", "0", "k_start, the first position that tensors " + names + " are read at"}};
}

LogicalResult RotationTableOp::verifyHeadDim(int64_t headDim,
                                             function_ref<InFlightDiagnostic()> emitError) {
  const int64_t dims = getRotatedDims(headDim);
  if (failed(verifyDimsOfHead(dims, headDim, "rotation_table", emitError)))
    return failure();
  for (Value tensor : {getCosines(), getSines()})
    if (int64_t pairs = cast<RankedTensorType>(tensor.getType()).getDimSize(1);
        !ShapedType::isDynamic(pairs) && pairs != dims / 2) // rotation_table-C5
      return emitError() << "expected a column for each of the " << dims / 2
                         << " pairs of dims, found " << pairs << " (rotation_table-C5)";
  return success();
}
