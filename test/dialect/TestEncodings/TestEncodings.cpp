//===- TestEncodings.cpp - Encodings added from outside -------------------===//

#include "test/dialect/TestEncodings/TestEncodings.h"

#include "dialect/PE/PEScalarBuilder.h"

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

bool mlir::pe::test::QueryShiftOp::changesQueries() { return true; }
bool mlir::pe::test::QueryShiftOp::changesKeys() { return false; }

Value mlir::pe::test::QueryShiftOp::buildElement(OpBuilder &builder, Location loc,
                                                 const RowPoint &point, Value element,
                                                 ValueRange operands) {
  Value shift = ReadOp::create(builder, loc, builder.getF32Type(), operands[0],
                               ValueRange{point.head, point.dim});
  return arith::AddFOp::create(builder, loc, element, shift);
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
