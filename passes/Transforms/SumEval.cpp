//===- SumEval.cpp - pe.sum as a loop, and its adjoint --------------------===//

#include "passes/Transforms/SumEval.h"

#include "dialect/PE/PE.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::pe {
namespace {

/// Maps the tensors of a sum's region to those of the surrounding code.
class CapturedParameters : public ParameterAccess {
public:
  CapturedParameters(SumOp op, ParameterAccess &outer) : op(op), outer(outer) {}

  Value read(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices) override {
    return outer.read(builder, loc, captured(tensor), indices);
  }
  void accumulate(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices,
                  Value value) override {
    outer.accumulate(builder, loc, captured(tensor), indices, value);
  }
  Value axisSize(OpBuilder &builder, Location loc, BlockArgument tensor, int64_t axis) override {
    return outer.axisSize(builder, loc, captured(tensor), axis);
  }
  Value globalHead(OpBuilder &builder, Location loc, Value head) override {
    return outer.globalHead(builder, loc, head);
  }
  Value headsTotal(OpBuilder &builder, Location loc) override {
    return outer.headsTotal(builder, loc);
  }
  Value scratch(OpBuilder &builder, Location loc, int64_t size, Type element) override {
    return outer.scratch(builder, loc, size, element);
  }

private:
  BlockArgument captured(BlockArgument tensor) {
    return cast<BlockArgument>(op.getInputs()[tensor.getArgNumber() - 1]);
  }

  SumOp op;
  ParameterAccess &outer;
};

/// Emits the loop over the summands.
class SumLoop {
public:
  SumLoop(SumOp op, const IRMapping &outside, OpBuilder &builder, ParameterAccess &params)
      : op(op), outside(outside), builder(builder), params(params), captured(op, params) {}

  using Body = llvm::function_ref<SmallVector<Value>(OpBuilder &, IRMapping &, ParameterAccess &,
                                                     ValueRange carried)>;
  /// Emits a loop that carries `inits`; `body` receives the region's leaves.
  ValueRange emit(ValueRange inits, Body body) {
    Location loc = op.getLoc();
    auto index = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
    Value count = op.getCount()
                      ? Value(index(*op.getCount()))
                      : params.axisSize(builder, loc, cast<BlockArgument>(op.getCounted()),
                                        op.getExtent()->back());
    auto loop = scf::ForOp::create(
        builder, loc, index(0), count, index(1), inits,
        [&](OpBuilder &inner, Location, Value iv, ValueRange carried) {
          IRMapping mapping;
          mapping.map(op.getBody().getArgument(0), iv);
          for (auto [argument, input] :
               llvm::zip_equal(op.getBody().getArguments().drop_front(), op.getInputs()))
            if (!isa<ShapedType>(input.getType()))
              mapping.map(argument, outside.lookup(input));
          scf::YieldOp::create(inner, loc, body(inner, mapping, captured, carried));
        });
    return loop.getResults();
  }

private:
  SumOp op;
  const IRMapping &outside;
  OpBuilder &builder;
  ParameterAccess &params;
  CapturedParameters captured;
};

Value zeroOf(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0));
}

} // namespace

bool readsFloats(SumOp op) {
  return op.getBody()
      .walk([](ReadOp read) {
        return isa<FloatType>(read.getResult().getType()) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
      })
      .wasInterrupted();
}

Value emitSum(SumOp op, const IRMapping &mapping, OpBuilder &builder, ParameterAccess &params,
              FloatType compute) {
  Location loc = op.getLoc();
  Value zero = zeroOf(builder, loc, compute ? Type(compute) : op.getResult().getType());
  return SumLoop(op, mapping, builder, params)
      .emit(zero,
            [&](OpBuilder &b, IRMapping &inside, ParameterAccess &access,
                ValueRange carried) -> SmallVector<Value> {
              Value summand = emitScalar(op.getSummand(), inside, b, access, compute);
              return {arith::AddFOp::create(b, loc, carried[0], summand)};
            })
      .front();
}

SmallVector<Value> emitSumAdjoint(SumOp op, const IRMapping &mapping, ArrayRef<bool> isActive,
                                  Value cotangent, OpBuilder &builder, ParameterAccess &params) {
  Location loc = op.getLoc();
  SmallVector<Value> inputs, inits;
  for (auto [number, active] : llvm::enumerate(isActive))
    if (active) {
      inputs.push_back(op.getBody().getArgument(number + 1));
      inits.push_back(zeroOf(builder, loc, mapping.lookup(op.getInputs()[number]).getType()));
    }
  FailureOr<ScalarVjp> vjp = ScalarVjp::create(op.getSummand(), inputs);
  assert(succeeded(vjp) && "the verifier accepts only ops that have rules");
  FloatType compute = cotangent.getType().isF64() ? builder.getF64Type() : FloatType();
  ValueRange sums =
      SumLoop(op, mapping, builder, params)
          .emit(inits,
                [&](OpBuilder &b, IRMapping &inside, ParameterAccess &access, ValueRange carried) {
                  vjp->emitPrimal(b, inside, access, compute);
                  SmallVector<Value> adjoints = vjp->emitAdjoint(b, inside, cotangent, access);
                  for (auto [sum, adjoint] : llvm::zip_equal(carried, adjoints))
                    adjoint = arith::AddFOp::create(b, loc, sum, adjoint);
                  return adjoints;
                });
  SmallVector<Value> result;
  for (bool active : isActive)
    result.push_back(active ? sums[llvm::count_if(result, [](Value v) { return bool(v); })]
                            : Value());
  return result;
}

} // namespace mlir::pe
