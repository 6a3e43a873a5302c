//===- ParameterAccess.cpp - captured tensors of emitted code -------------===//

#include "passes/Transforms/ParameterAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::pe {

ParameterAccess::~ParameterAccess() = default;

Value ParameterAccess::scratch(OpBuilder &builder, Location loc, int64_t size, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *scope = builder.getInsertionBlock()->getParentOp();
  while (!scope->hasTrait<OpTrait::AutomaticAllocationScope>())
    scope = scope->getParentOp();
  builder.setInsertionPointToStart(&scope->getRegion(0).front());
  return memref::AllocaOp::create(builder, loc, MemRefType::get(size, element),
                                  builder.getI64IntegerAttr(64));
}

/// Supports only static sizes; implementations provide dynamic ones.
Value ParameterAccess::axisSize(OpBuilder &builder, Location loc, BlockArgument tensor,
                                int64_t axis) {
  auto type = cast<RankedTensorType>(tensor.getType());
  assert(!type.isDynamicDim(axis) && "an implementation has to know sizes of the call");
  return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(axis));
}

Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

} // namespace mlir::pe
