//===- TestEncodings.cpp - Encodings of another dialect -------------------===//

#include "test/dialect/TestEncodings/TestEncodings.h"

#include "dialect/PE/PEScalarBuilder.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pe;
using namespace mlir::pe::test;

#include "test/dialect/TestEncodings/TestEncodingsDialect.cpp.inc"

#define GET_OP_CLASSES
#include "test/dialect/TestEncodings/TestEncodings.cpp.inc"

void TestEncodingsDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "test/dialect/TestEncodings/TestEncodings.cpp.inc"
      >();
}

Value SquareRootDistanceOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                        ValueRange) {
  ScalarBuilder f(builder, loc, point);
  return f.create<math::SqrtOp>(f.distance());
}

Value BumpOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                          ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value square = f.mul(operands[0], operands[0]);
  return f.mul(f.parameter(operands[1]), f.exp(f.scale(-1.0, square)));
}

Value EvenOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point, ValueRange) {
  ScalarBuilder f(builder, loc, point);
  Value difference = f.difference(), zero = f.constantInt(0);
  Value odd = f.create<arith::AndIOp>(difference, f.constantInt(1));
  Value isEven = f.create<arith::CmpIOp>(arith::CmpIPredicate::eq, odd, zero);
  Value isPast = f.create<arith::CmpIOp>(arith::CmpIPredicate::sge, difference, zero);
  return f.create<arith::AndIOp>(isEven, isPast);
}

DifferenceRange EvenOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  return {.min = 0, .exact = false};
}

Value OppositeOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &,
                              ValueRange operands) {
  Value always = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return arith::XOrIOp::create(builder, loc, operands[0], always);
}

DifferenceRange OppositeOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  return {.exact = false};
}

int64_t SlowRotationOp::getRotatedDims(int64_t headDim) { return headDim; }

Value SlowRotationOp::buildFrequency(OpBuilder &builder, Location loc, const RotationPoint &,
                                     ValueRange) {
  return arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.01));
}

bool SlowRotationOp::isInterleavedPairs() { return false; }

LogicalResult SlowRotationOp::verifyHeadDim(int64_t headDim,
                                            function_ref<InFlightDiagnostic()> emitError) {
  if (headDim % 2 != 0)
    return emitError() << "expected an even head dim, found " << headDim;
  return success();
}

int64_t TurningOp::getRotatedDims(int64_t headDim) { return headDim; }

Value TurningOp::buildFrequency(OpBuilder &builder, Location loc, const RotationPoint &point,
                                ValueRange) {
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(value));
  };
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), point.pair);
  Value pair = arith::SIToFPOp::create(builder, loc, builder.getF64Type(), wide);
  Value exponent = arith::MulFOp::create(
      builder, loc, pair, number(-2.0 * std::log(50.0) / static_cast<double>(point.headDim)));
  return math::ExpOp::create(builder, loc, exponent);
}

bool TurningOp::isInterleavedPairs() { return false; }

LogicalResult TurningOp::verifyHeadDim(int64_t headDim,
                                       function_ref<InFlightDiagnostic()> emitError) {
  if (headDim % 2 != 0)
    return emitError() << "expected an even head dim, found " << headDim;
  return success();
}

bool mlir::pe::test::QueryShiftOp::changesQueries() { return true; }
bool mlir::pe::test::QueryShiftOp::changesKeys() { return false; }

Value mlir::pe::test::QueryShiftOp::buildElement(OpBuilder &builder, Location loc,
                                                 const RowPoint &point, Value element,
                                                 ValueRange operands) {
  Value shift = ReadOp::create(builder, loc, builder.getF32Type(), operands[0],
                               ValueRange{point.head, point.dim});
  return arith::AddFOp::create(builder, loc, element, shift);
}

SmallVector<StringRef> mlir::pe::test::QueryShiftOp::getTensorAxes(Value) {
  return {"head", "depth"};
}

bool RowScaleOp::changesQueries() { return true; }
bool RowScaleOp::changesKeys() { return true; }

Value RowScaleOp::buildElement(OpBuilder &builder, Location loc, const RowPoint &point,
                               Value element, ValueRange operands) {
  Value rate =
      ReadOp::create(builder, loc, builder.getF32Type(), operands[0], ValueRange{point.head});
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), point.position);
  Value position = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), wide);
  Value power =
      arith::MulFOp::create(builder, loc, rate, math::SinOp::create(builder, loc, position));
  return arith::MulFOp::create(builder, loc, element, math::ExpOp::create(builder, loc, power));
}

//===----------------------------------------------------------------------===//
// Biases from data, and piecewise biases
//===----------------------------------------------------------------------===//

bool DifferenceOfOp::readsTokens() { return true; }

Value DifferenceOfOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                                  ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value query = f.read(operands[0], {point.batch, point.head, point.query});
  return f.sub(query, f.read(operands[1], {point.batch, point.head, point.key}));
}

Value HingesOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                            ValueRange operands) {
  return HingesEvalOp::create(builder, loc, builder.getF32Type(), operands[0], point.head,
                              operands[1], operands[2], operands[3], operands[4]);
}

Value HingesEvalOp::getCoordinate() { return getX(); }
Value HingesEvalOp::getHeadIndex() { return getHead(); }
double HingesEvalOp::getLogitTolerance() { return 1e-5; }
SmallVector<ChainLink> HingesEvalOp::getChain() {
  return {{getSteep(), getCorner(), Activation::Relu},
          {getRise(), getBelow(), Activation::Identity}};
}

//===----------------------------------------------------------------------===//
// Score functions, content terms and embeddings
//===----------------------------------------------------------------------===//

Value CapOp::buildScore(OpBuilder &builder, Location loc, const PairPoint &point, Value score,
                        ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value limit = f.parameter(operands[0]);
  return f.mul(limit, f.create<math::TanhOp>(f.div(score, limit)));
}

Value FadeOp::buildFactor(OpBuilder &builder, Location loc, const PairPoint &point,
                          ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  return f.exp(f.scale(-1.0, f.mul(f.parameter(operands[0]), f.distance())));
}

Value ThinnedOp::buildFactor(OpBuilder &builder, Location loc, const PairPoint &point,
                             ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value isKept =
      f.create<DropoutFactorOp>(builder.getF32Type(), builder.getF64FloatAttr(0.25), operands[1]);
  return f.mul(f.read(operands[0], {point.batch, point.head, point.key}), isKept);
}

Value RisingSinkOp::buildLogit(OpBuilder &builder, Location loc, const PairPoint &row,
                               ValueRange operands) {
  ScalarBuilder f(builder, loc, row);
  return f.add(f.parameter(operands[0]), f.read(operands[1], {row.batch, row.query}));
}

Value NearVectorsOp::buildElement(OpBuilder &builder, Location loc, const ContentPoint &point,
                                  ValueRange operands) {
  ScalarBuilder f(builder, loc, point.pair);
  Value distance = f.create<arith::SubIOp>(point.pair.query, point.pair.key);
  Value row = f.create<arith::MaxSIOp>(distance, f.constantIndex(0));
  row = f.create<arith::MinSIOp>(row, f.constantIndex(8));
  return f.read(operands[0], {row, point.dim});
}

Value CrossedOp::buildElement(OpBuilder &builder, Location loc, const ContentPoint &point,
                              ValueRange) {
  return ScalarBuilder(builder, loc, point.pair).toFloat(point.pair.query);
}

Value RowsAndWaveOp::buildElement(OpBuilder &builder, Location loc, const TokenPoint &point,
                                  ValueRange operands) {
  ScalarBuilder f(builder, loc, PairPoint());
  Value last = f.create<arith::SubIOp>(point.end, f.constantIndex(1));
  Value row = f.create<arith::SubIOp>(last, point.position);
  Value angle = f.mul(f.toFloat(point.position), f.read(operands[1], point.dim));
  return f.add(f.read(operands[0], {row, point.dim}), f.create<math::CosOp>(angle));
}

DictionaryAttr RowsAndWaveOp::getLeastSizes() {
  Builder b(getContext());
  return b.getDictionaryAttr(b.getNamedAttr("rows", b.getStringAttr("n")));
}

int64_t RowsAndWaveOp::getDimsMultiple() { return 2; }

//===----------------------------------------------------------------------===//
// Masks from data, and combinations of masks
//===----------------------------------------------------------------------===//

Value PackedOp::getDocumentBoundaries() { return getStarts(); }
bool PackedOp::restartsPositions() { return getRestart(); }

Value PackedOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                            ValueRange operands) {
  auto same = pe::DocumentsOp::create(builder, loc, getResult().getType(), getStarts());
  Value isKept = same.buildScalar(builder, loc, point, operands);
  same->erase();
  return isKept;
}

DifferenceRange PackedOp::getDifferenceRange(ArrayRef<DifferenceRange>) { return {.exact = false}; }

Value BelowOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                           ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value end =
      f.create<arith::IndexCastOp>(builder.getIndexType(), f.read(operands[0], point.batch));
  return f.create<arith::CmpIOp>(arith::CmpIPredicate::slt, point.key, end);
}

DifferenceRange BelowOp::getDifferenceRange(ArrayRef<DifferenceRange>) { return {.exact = false}; }

std::optional<KeyInterval> BelowOp::buildKeyInterval(OpBuilder &builder, Location loc,
                                                     const PairPoint &row, ArrayRef<KeyInterval>,
                                                     function_ref<Value(Value, ValueRange)> read) {
  Value end =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), read(getEnd(), row.batch));
  return KeyInterval{Value(), end};
}

Value OneOfOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &,
                           ValueRange operands) {
  return arith::XOrIOp::create(builder, loc, operands[0], operands[1]);
}

DifferenceRange OneOfOp::getDifferenceRange(ArrayRef<DifferenceRange> operands) {
  DifferenceRange range = DifferenceRange::either(operands[0], operands[1]);
  range.exact = false;
  return range;
}

Value EvenSumOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                             ValueRange operands) {
  ScalarBuilder f(builder, loc, point);
  Value sum = f.create<arith::AddIOp>(point.query, point.key);
  Value odd = f.create<arith::AndIOp>(sum, f.constantIndex(1));
  Value isEven = f.create<arith::CmpIOp>(arith::CmpIPredicate::eq, odd, f.constantIndex(0));
  return f.create<arith::AndIOp>(operands[0], isEven);
}

DifferenceRange EvenSumOp::getDifferenceRange(ArrayRef<DifferenceRange> operands) {
  DifferenceRange range = operands[0];
  range.exact = false;
  return range;
}
