//===- ScalarEmitter.cpp - emission of scalars from bias regions ----------===//

#include "passes/Transforms/ScalarEmitter.h"

#include "dialect/PE/PE.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Analysis/Slice.h"
#include "passes/Transforms/ChainEval.h"
#include "passes/Transforms/CosineSum.h"
#include "passes/Transforms/SumEval.h"

namespace mlir::pe {

bool isEmittable(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
         isa<ReadOp, AxisSizeOp, CosineSumEvalOp, SumOp, GlobalHeadOp, HeadsTotalOp,
             PiecewiseOpInterface>(op);
}

void mapPoint(IRMapping &mapping, Block &block, const PairPoint &point) {
  mapping.map(block.getArguments().take_front(4),
              ValueRange{point.batch, point.head, point.query, point.key});
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

/// Emits the value of a sum in the float type `compute` (default: f32). `mapping` holds its scalar
/// inputs.
static Value emitSum(SumOp op, const IRMapping &mapping, OpBuilder &builder,
                     ParameterAccess &params, FloatType compute) {
  Location loc = op.getLoc();
  Type type = compute ? Type(compute) : op.getResult().getType();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0));
  auto addSummand = [&](OpBuilder &b, IRMapping &inside, ParameterAccess &access,
                        ValueRange carried) -> SmallVector<Value> {
    Value summand = emitScalar(op.getSummand(), inside, b, access, compute);
    return {arith::AddFOp::create(b, loc, carried[0], summand)};
  };
  return emitSumLoop(op, mapping, builder, params, zero, addSummand).front();
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
