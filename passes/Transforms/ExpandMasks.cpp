//===- ExpandMasks.cpp - masks in the form that kernels use ---------------===//
//
// See Passes.td for an example. The pass depends only on MaskOpInterface, not on particular masks.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEKeyHull.h"
#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/ScalarRange.h"
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

/// Replaces the mask of an attention by its parts.
void expand(AttentionOp attention) {
  Value whole = attention.getMask();
  if (whole.getDefiningOp<MaskPartsOp>())
    return;
  SmallVector<Value> intervals, others;
  bool perHead = false;
  auto add = [&](Value mask) {
    if (getDifferenceRange(mask)->exact)
      return;
    const std::optional<IntervalScope> scope = findIntervalScope(mask);
    (scope ? intervals : others).push_back(mask);
    perHead |= scope == IntervalScope::RowOfHead;
  };
  for (SmallVector<Value> pending = {whole}; !pending.empty();) {
    Value mask = pending.pop_back_val();
    if (auto both = mask.getDefiningOp<MaskAndOp>())
      llvm::append_range(pending, ValueRange{both.getRhs(), both.getLhs()});
    else
      add(mask);
  }
  OpBuilder builder(attention);
  MaskFnOp code;
  std::optional<IntervalScope> hull;
  bool blocks = false;
  if (!others.empty()) {
    code = createFunction(builder, others).getDefiningOp<MaskFnOp>();
    hull = findHullScope(code);
    perHead |= hull == IntervalScope::RowOfHead;
    blocks = knowsBlocks(cast<YieldOp>(code.getBody().front().getTerminator()).getValues()[0],
                         RegionDependence(code.getBody()));
  }
  const DifferenceRange range = *getDifferenceRange(whole);
  auto bound = [&](int64_t value, int64_t unbounded) {
    return value == unbounded ? IntegerAttr() : builder.getI64IntegerAttr(value);
  };
  attention.getMaskMutable().assign(MaskPartsOp::create(
      builder, whole.getLoc(), builder.getType<MaskType>(), intervals, code ? code : Value(),
      bound(range.min, DifferenceRange::kUnboundedMin),
      bound(range.max, DifferenceRange::kUnboundedMax), perHead, hull.has_value(), blocks));
}

struct PEExpandMasksPass : impl::PEExpandMasksPassBase<PEExpandMasksPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto attention : getOperation().getOps<AttentionOp>())
      if (Value mask = attention.getMask(); mask && mask.getDefiningOp())
        expand(attention);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(getOperation().front())))
      if (isa<MaskOpInterface>(op) && op.use_empty())
        op.erase();
  }
};

} // namespace
} // namespace mlir::pe
