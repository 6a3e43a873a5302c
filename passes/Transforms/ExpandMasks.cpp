//===- ExpandMasks.cpp - masks in the form that kernels use ---------------===//
//
// See Passes.td for an example. The pass depends only on MaskOpInterface, not on particular masks.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "pe-expand-masks"

namespace mlir::pe {
#define GEN_PASS_DEF_PEEXPANDMASKSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Fills the region of `function` with the conjunction of `masks`.
void emitRegion(MaskFnOp function, ArrayRef<Value> masks, ArrayRef<Operation *> ops) {
  Block &block = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  PairPoint point{block.getArgument(0), block.getArgument(1), block.getArgument(2),
                  block.getArgument(3)};
  DenseMap<Value, Value> scalars;
  for (auto [capture, argument] :
       llvm::zip_equal(function.getCaptures(), block.getArguments().drop_front(4)))
    scalars[capture] = argument;
  for (Operation *op : ops) {
    SmallVector<Value> operands = llvm::map_to_vector(
        op->getOperands(), [&](Value operand) { return scalars.lookup(operand); });
    scalars[op->getResult(0)] =
        cast<MaskOpInterface>(op).buildScalar(builder, op->getLoc(), point, operands);
  }
  Value all = scalars.lookup(masks.front());
  for (Value mask : masks.drop_front())
    all = arith::AndIOp::create(builder, function.getLoc(), all, scalars.lookup(mask));
  YieldOp::create(builder, function.getLoc(), all);
}

/// Returns the ops that compute the masks in topological order, collected without recursion.
SmallVector<Operation *> collectOps(ArrayRef<Value> masks) {
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> pending(llvm::reverse(masks));
  while (!pending.empty()) {
    Operation *op = pending.back().getDefiningOp();
    const size_t before = pending.size();
    for (Value operand : op->getOperands())
      if (isa<MaskType>(operand.getType()) && !ops.contains(operand.getDefiningOp()))
        pending.push_back(operand);
    if (pending.size() != before)
      continue;
    pending.pop_back();
    ops.insert(op);
  }
  return ops.takeVector();
}

/// Creates one op for the masks that are evaluated per pair.
Value createFunction(OpBuilder &builder, ArrayRef<Value> masks) {
  SmallVector<Operation *> ops = collectOps(masks);
  if (masks.size() == 1 && isa<MaskFnOp>(ops.back()))
    return masks[0];
  llvm::SetVector<Value> captures;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!isa<MaskType>(operand.getType()))
        captures.insert(operand);
  Location loc = masks.front().getLoc();
  auto function =
      MaskFnOp::create(builder, loc, builder.getType<MaskType>(), captures.getArrayRef());
  Block &block = function.getBody().emplaceBlock();
  for (int position = 0; position < 4; ++position)
    block.addArgument(builder.getIndexType(), loc);
  for (Value capture : captures)
    block.addArgument(capture.getType(), loc);
  emitRegion(function, masks, ops);
  return function;
}

Value createBoth(OpBuilder &builder, Location loc, Value a, Value b) {
  return MaskAndOp::create(builder, loc, a.getType(), a, b);
}

void expand(AttentionOp attention) {
  SmallVector<Value> conjuncts, intervals, others;
  for (SmallVector<Value> pending = {attention.getMask()}; !pending.empty();) {
    Value mask = pending.pop_back_val();
    if (auto both = mask.getDefiningOp<MaskAndOp>())
      llvm::append_range(pending, ValueRange{both.getRhs(), both.getLhs()});
    else
      (keepsInterval(mask) ? intervals : others).push_back(mask);
  }
  if (others.empty())
    return;
  OpBuilder builder(attention);
  DifferenceRange known;
  for (Value other : others)
    known = DifferenceRange::both(known, *getDifferenceRange(other));
  Value mask = createFunction(builder, others);
  // The range of i - j that follows from the code may be wider than the range that the ops declare.
  const DifferenceRange shown = *getDifferenceRange(mask);
  if (shown.min != known.min || shown.max != known.max)
    if (Value range = createRangeMask(builder, attention.getLoc(), known))
      mask = createBoth(builder, attention.getLoc(), range, mask);
  for (Value interval : llvm::reverse(intervals))
    mask = createBoth(builder, attention.getLoc(), interval, mask);
  attention.getMaskMutable().assign(mask);
}

struct PEExpandMasksPass : impl::PEExpandMasksPassBase<PEExpandMasksPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](AttentionOp attention) {
      if (Value mask = attention.getMask(); mask && mask.getDefiningOp())
        expand(attention);
    });
  }
};

} // namespace
} // namespace mlir::pe
