//===- ScalarEmitter.cpp - emission of scalars from bias regions ----------===//

#include "passes/Transforms/ScalarEmitter.h"

#include "dialect/PE/PE.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Analysis/Slice.h"
#include "passes/Transforms/ChainEval.h"
#include "passes/Transforms/CosineSum.h"
#include "passes/Transforms/SumEval.h"

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

bool isEmittable(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
         isa<ReadOp, AxisSizeOp, CosineSumEvalOp, SumOp, GlobalHeadOp, HeadsTotalOp,
             PiecewiseOpInterface>(op);
}

void mapPoint(IRMapping &mapping, Block &block, const PairPoint &point) {
  mapping.map(block.getArguments().take_front(4),
              ValueRange{point.batch, point.head, point.query, point.key});
}

Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

/// Clones one operation of arith or math; its floats become `compute` if that is given.
static void cloneScalarOp(Operation *op, IRMapping &mapping, OpBuilder &builder,
                          FloatType compute) {
  bool isFloat = op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType());
  if (!compute || !isFloat) {
    builder.clone(*op, mapping);
    return;
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    double value = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
    mapping.map(
        constant.getResult(),
        arith::ConstantOp::create(builder, op->getLoc(), builder.getFloatAttr(compute, value)));
    return;
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    mapping.map(op->getResult(0), mapping.lookup(op->getOperand(0)));
    return;
  }
  builder.clone(*op, mapping)->getResult(0).setType(compute);
}

/// Emits min(max(value, low), high), because upstream's expansion of math.clampf swaps the bounds.
static Value emitClamp(math::ClampFOp op, IRMapping &mapping, OpBuilder &builder) {
  Value raised = arith::MaximumFOp::create(builder, op.getLoc(), mapping.lookup(op.getValue()),
                                           mapping.lookup(op.getMin()));
  return arith::MinimumFOp::create(builder, op.getLoc(), raised, mapping.lookup(op.getMax()));
}

/// Emits |x|^n, with the sign of x if n is odd. As a float, every n beyond 2^24 is even.
Value emitWholePower(OpBuilder &builder, Location loc, Value x, Value exponent) {
  Value power = arith::SIToFPOp::create(builder, loc, x.getType(), exponent);
  Value magnitude = math::AbsFOp::create(builder, loc, x);
  Value value = math::PowFOp::create(builder, loc, magnitude, power);
  Value isOdd = exponent;
  if (!exponent.getType().isInteger(1))
    isOdd = arith::TruncIOp::create(builder, loc, builder.getI1Type(), exponent);
  Value withSign = math::CopySignOp::create(builder, loc, value, x);
  return arith::SelectOp::create(builder, loc, isOdd, withSign, value);
}

/// Emits |x| = infinity; upstream lowers isnan and isfinite, but not isinf.
static Value emitIsInfinite(math::IsInfOp op, IRMapping &mapping, OpBuilder &builder) {
  Value magnitude = math::AbsFOp::create(builder, op.getLoc(), mapping.lookup(op.getOperand()));
  auto type = cast<FloatType>(magnitude.getType());
  auto infinity = builder.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics()));
  return arith::CmpFOp::create(builder, op.getLoc(), arith::CmpFPredicate::OEQ, magnitude,
                               arith::ConstantOp::create(builder, op.getLoc(), infinity));
}

Value emitScalar(Value root, IRMapping &mapping, OpBuilder &builder, ParameterAccess &params,
                 FloatType compute) {
  auto isDone = [&](Value value) { return mapping.contains(value); };
  auto lookUp = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
  };
  for (Operation *op : collectSlice(root, isDone)) {
    Location loc = op->getLoc();
    if (auto read = dyn_cast<ReadOp>(op)) {
      Value value = params.read(builder, loc, cast<BlockArgument>(read.getSource()),
                                lookUp(read.getIndices()));
      if (auto type = dyn_cast<FloatType>(read.getResult().getType()))
        value = convertFloat(builder, loc, value, compute ? compute : type);
      mapping.map(read.getResult(), value);
    } else if (auto size = dyn_cast<AxisSizeOp>(op)) {
      mapping.map(size.getResult(),
                  params.axisSize(builder, loc, cast<BlockArgument>(size.getSource()),
                                  static_cast<int64_t>(size.getAxis())));
    } else if (auto chain = dyn_cast<PiecewiseOpInterface>(op)) {
      mapping.map(op->getResult(0),
                  emitChain(chain, mapping.lookup(chain.getCoordinate()),
                            mapping.lookup(chain.getHeadIndex()), builder, params));
    } else if (auto cosines = dyn_cast<CosineSumEvalOp>(op)) {
      mapping.map(cosines.getResult(),
                  emitCosineSum(cosines, mapping.lookup(cosines.getX()), builder));
    } else if (auto sum = dyn_cast<SumOp>(op)) {
      mapping.map(sum.getResult(), emitSum(sum, mapping, builder, params, compute));
    } else if (auto clamp = dyn_cast<math::ClampFOp>(op)) {
      mapping.map(clamp.getResult(), emitClamp(clamp, mapping, builder));
    } else if (auto infinite = dyn_cast<math::IsInfOp>(op)) {
      mapping.map(infinite.getResult(), emitIsInfinite(infinite, mapping, builder));
    } else if (auto power = dyn_cast<math::FPowIOp>(op)) {
      mapping.map(power.getResult(), emitWholePower(builder, loc, mapping.lookup(power.getLhs()),
                                                    mapping.lookup(power.getRhs())));
    } else if (auto head = dyn_cast<GlobalHeadOp>(op)) {
      mapping.map(head.getResult(),
                  params.globalHead(builder, loc, mapping.lookup(head.getHead())));
    } else if (auto total = dyn_cast<HeadsTotalOp>(op)) {
      mapping.map(total.getResult(), params.headsTotal(builder, loc));
    } else {
      cloneScalarOp(op, mapping, builder, compute);
    }
  }
  return mapping.lookup(root);
}

} // namespace mlir::pe
