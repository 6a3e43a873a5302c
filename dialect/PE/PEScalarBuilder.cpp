//===- PEScalarBuilder.cpp - A builder of scalar IR -----------------------===//

#include "dialect/PE/PEScalarBuilder.h"

#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::pe;

Value ScalarBuilder::constantInt(int64_t value) {
  return create<arith::ConstantOp>(getI32IntegerAttr(value));
}

Value ScalarBuilder::constantIndex(int64_t value) { return create<arith::ConstantIndexOp>(value); }

Value ScalarBuilder::difference() {
  Value wide = create<arith::SubIOp>(point.query, point.key);
  return create<arith::IndexCastOp>(getI32Type(), wide);
}

Value ScalarBuilder::relative() { return toFloat(difference()); }

Value ScalarBuilder::distance() { return abs(relative()); }

Value ScalarBuilder::toFloat(Value value) {
  if (value.getType().isIndex())
    value = create<arith::IndexCastOp>(getI32Type(), value);
  return create<arith::SIToFPOp>(getF32Type(), value);
}

Value ScalarBuilder::toIndex(Value value) {
  Value integer = create<arith::FPToSIOp>(getI32Type(), value);
  return create<arith::IndexCastOp>(getIndexType(), integer);
}

Value ScalarBuilder::scale(double factor, Value a) {
  return factor == 1.0 ? a : mul(number(factor), a);
}

Value ScalarBuilder::headIndex(int64_t extent) {
  return extent == 1 ? constantIndex(0) : point.head;
}

Value ScalarBuilder::read(Value tensor, ValueRange indices) {
  return create<ReadOp>(cast<ShapedType>(tensor.getType()).getElementType(), tensor, indices);
}

Value ScalarBuilder::parameter(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() == 0)
    return read(tensor, {});
  return read(tensor, headIndex(type.getDimSize(0)));
}
