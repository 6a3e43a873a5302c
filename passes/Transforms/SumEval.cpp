//===- SumEval.cpp - pe.sum as a loop -------------------------------------===//

#include "passes/Transforms/SumEval.h"

#include "dialect/PE/PE.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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

} // namespace

ValueRange emitSumLoop(SumOp op, const IRMapping &outside, OpBuilder &builder,
                       ParameterAccess &params, ValueRange inits, SumBody body) {
  Location loc = op.getLoc();
  CapturedParameters captured(op, params);
  auto index = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
  Value count = op.getCount() ? Value(index(*op.getCount()))
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

bool readsFloats(SumOp op) {
  return op.getBody()
      .walk([](ReadOp read) {
        return isa<FloatType>(read.getResult().getType()) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace mlir::pe
