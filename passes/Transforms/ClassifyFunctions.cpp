//===- ClassifyFunctions.cpp - classes of content terms, scores and factors -===//
//
// See Passes.td for an example.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PERegions.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/ContentClass.h"
#include "passes/Analysis/QueryFactor.h"

#define DEBUG_TYPE "pe-classify-functions"

namespace mlir::pe {
#define GEN_PASS_DEF_PECLASSIFYFUNCTIONSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Stores the class of a content term, which depends on the pairs that this attention keeps. Other
/// attentions may use the same term, so each gets a copy.
void classifyContent(AttentionOp attention, OpOperand &operand) {
  auto op = operand.get().getDefiningOp<ContentFnOp>();
  if (!op || op.getStructure())
    return;
  if (!op->hasOneUse()) {
    OpBuilder builder(op);
    op = cast<ContentFnOp>(builder.clone(*op));
    operand.set(op);
  }
  const ContentStructure found = classifyContent(op, attention.getPairRange().ofPositions());
  op.setStructureAttr(found.stored);
  if (found.angle)
    op.getBody().front().getTerminator()->insertOperands(1, found.angle);
}

/// Checks that the factor of a content term is a number per query.
LogicalResult classifyFactorOf(ContentFnOp content) {
  auto factor =
      content.getFactor() ? content.getFactor().getDefiningOp<FactorFnOp>() : FactorFnOp();
  if (!factor)
    return success();
  if (!findParts(factor).perPair.empty()) // content_fn-C11
    return content.emitOpError("expected a factor that depends only on b, h and i and is finite at "
                               "every position in times(...), found another one; multiply the "
                               "vectors by a function of i - j (content_fn-C11)");
  return success();
}

/// Creates a copy of `factor` that yields the product of `values` of its region, over `divisors`.
Value createPart(OpBuilder &builder, FactorFnOp factor, ArrayRef<Value> values,
                 ArrayRef<Value> divisors, bool perQuery) {
  IRMapping mapping;
  auto part = cast<FactorFnOp>(builder.clone(*factor, mapping));
  Block &body = part.getBody().front();
  Operation *yield = body.getTerminator();
  OpBuilder inner(yield);
  Location loc = factor.getLoc();
  Value product;
  for (Value value : values) {
    Value own = mapping.lookup(value);
    product = product ? arith::MulFOp::create(inner, loc, product, own).getResult() : own;
  }
  if (!product)
    product = arith::ConstantOp::create(inner, loc, inner.getF32FloatAttr(1.0));
  for (Value divisor : divisors)
    product = arith::DivFOp::create(inner, loc, product, mapping.lookup(divisor));
  yield->setOperand(0, product);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  dropUnusedCaptures(part, part.getCaptures().size());
  part.setPerQuery(perQuery);
  return part;
}

/// Separates the values of the query in the factor on weights. A remainder is a weight without
/// factor, so its row has no common one.
void classifyFactor(AttentionOp attention) {
  if (attention.getFactors().size() != 1 || attention.getRemainder() == Remainder::Value)
    return;
  auto factor = attention.getFactors()[0].getDefiningOp<FactorFnOp>();
  if (!factor)
    return;
  const FactorParts parts = findParts(factor);
  const bool hasQuery = !parts.perQuery.empty() || !parts.divisors.empty();
  if (!hasQuery || parts.perPair.empty()) {
    factor.setPerQuery(parts.perPair.empty());
    return;
  }
  OpBuilder builder(factor);
  const Value both[] = {createPart(builder, factor, parts.perPair, {}, /*perQuery=*/false),
                        createPart(builder, factor, parts.perQuery, parts.divisors, true)};
  attention.getFactorsMutable().assign(both);
  if (factor->use_empty())
    factor->erase();
}

struct ClassifyFunctionsPass : impl::PEClassifyFunctionsPassBase<ClassifyFunctionsPass> {
  using Base::Base;

  void runOnOperation() override {
    // The class of a content term that was written by hand is not trusted.
    for (auto op : getOperation().getOps<ContentFnOp>()) {
      op.removeStructureAttr();
      Operation *yield = op.getBody().front().getTerminator();
      yield->eraseOperands(1, yield->getNumOperands() - 1);
    }
    for (auto attention : getOperation().getOps<AttentionOp>()) {
      for (OpOperand &operand : attention.getContentsMutable())
        classifyContent(attention, operand);
      for (Value content : attention.getContents())
        if (auto op = content.getDefiningOp<ContentFnOp>(); op && failed(classifyFactorOf(op)))
          return signalPassFailure();
      for (OpOperand &operand : attention.getValueContentMutable())
        classifyContent(attention, operand);
      if (Value value = attention.getScore())
        if (auto score = value.getDefiningOp<ScoreFnOp>())
          score.setPerQuery(isPerQuery(score));
      classifyFactor(attention);
    }
  }
};

} // namespace
} // namespace mlir::pe
