//===- OpShape.cpp - scalar operations on vectors or 32-bit indices -------===//
#include "passes/Scalar/OpShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

/// Returns the type in registers: i32 for an index, f32 for tf32.
static Type machineTypeOf(Type type) {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 32);
  return type.isTF32() ? Float32Type::get(type.getContext()) : type;
}

Type OpShape::of(Type type) const {
  Type element = machineTypeOf(type);
  return lanes ? Type(VectorType::get({lanes}, element)) : element;
}

Value OpShape::create(OpBuilder &builder, Location loc, Operation &op, ValueRange operands) const {
  Type type = of(op.getResult(0).getType());
  if (isa<arith::IndexCastOp>(op)) {
    const unsigned from = machineTypeOf(op.getOperand(0).getType()).getIntOrFloatBitWidth();
    const unsigned to = machineTypeOf(op.getResult(0).getType()).getIntOrFloatBitWidth();
    if (from == to)
      return operands[0];
    return from < to ? arith::ExtSIOp::create(builder, loc, type, operands[0]).getResult()
                     : arith::TruncIOp::create(builder, loc, type, operands[0]).getResult();
  }
  OperationState state(loc, op.getName());
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(op.getAttrs());
  return builder.create(state)->getResult(0);
}
