//===- ExpandFunctions.cpp - Scores, contents, embeddings as regions ------===//
//
// See Passes.td for an example. The pass names no encoding: it uses ScoreOpInterface,
// ContentOpInterface and EmbeddingOpInterface, and makes the op of each kind that has a region.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/ExpandFunctions.h"

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Transforms/Passes.h"

#define DEBUG_TYPE "pe-expand-functions"

namespace mlir::pe {
#define GEN_PASS_DEF_PEEXPANDFUNCTIONSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Fills `body` with the code of `source`: arguments of the types `leading`, then one per capture.
/// `build` gets the leading arguments and, per operand of the source, its argument, or null for an
/// operand that is no capture.
void fillRegion(
    Region &body, Operation *source, TypeRange leading, ValueRange captures,
    llvm::function_ref<Value(OpBuilder &, ValueRange leading, ValueRange operands)> build) {
  Location loc = source->getLoc();
  Block &block = body.emplaceBlock();
  for (Type type : leading)
    block.addArgument(type, loc);
  llvm::DenseMap<Value, Value> arguments;
  for (Value capture : captures)
    arguments[capture] = block.addArgument(capture.getType(), loc);
  SmallVector<Value> operands = llvm::map_to_vector(
      source->getOperands(), [&](Value operand) { return arguments.lookup(operand); });
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  ValueRange all = block.getArguments();
  YieldOp::create(builder, loc, build(builder, all.take_front(leading.size()), operands));
}

/// The operands of an op, each once, without `others`.
SmallVector<Value> capturesOf(Operation *op, ArrayRef<Value> others = {}) {
  SmallVector<Value> captures;
  for (Value operand : op->getOperands())
    if (!llvm::is_contained(others, operand) && !llvm::is_contained(captures, operand))
      captures.push_back(operand);
  return captures;
}

PairPoint pairOf(ValueRange values) { return {values[0], values[1], values[2], values[3]}; }

} // namespace

ScoreFnOp createScoreFunction(OpBuilder &builder, ScoreOpInterface op) {
  SmallVector<Value> captures = capturesOf(op);
  auto function = ScoreFnOp::create(builder, op.getLoc(), builder.getType<ScoreType>(), captures);
  SmallVector<Type> leading = {builder.getF32Type()};
  leading.append(4, builder.getIndexType());
  fillRegion(function.getBody(), op, leading, captures,
             [&](OpBuilder &b, ValueRange at, ValueRange operands) {
               return op.buildScore(b, op.getLoc(), pairOf(at.drop_front()), at[0], operands);
             });
  return function;
}

ContentFnOp createContentFunction(OpBuilder &builder, ContentOpInterface op) {
  Value shift = op.getShift(), projection = op.getProjection();
  SmallVector<Value> captures = capturesOf(op, {shift, projection});
  auto function = ContentFnOp::create(builder, op.getLoc(), builder.getType<ContentType>(),
                                      captures, shift, projection);
  const SmallVector<Type> leading(6, builder.getIndexType());
  fillRegion(function.getBody(), op, leading, captures,
             [&](OpBuilder &b, ValueRange at, ValueRange operands) {
               return op.buildElement(b, op.getLoc(), {pairOf(at), at[4], at[5]}, operands);
             });
  return function;
}

EmbeddingFnOp createEmbeddingFunction(OpBuilder &builder, EmbeddingOpInterface op) {
  SmallVector<Value> captures = capturesOf(op);
  const int64_t multiple = op.getDimsMultiple();
  auto function = EmbeddingFnOp::create(
      builder, op.getLoc(), builder.getType<EmbeddingType>(), captures, op.getLeastSizes(),
      multiple == 1 ? IntegerAttr() : builder.getI64IntegerAttr(multiple));
  const SmallVector<Type> leading(4, builder.getIndexType());
  fillRegion(function.getBody(), op, leading, captures,
             [&](OpBuilder &b, ValueRange at, ValueRange operands) {
               return op.buildElement(b, op.getLoc(), {at[0], at[1], at[2], at[3]}, operands);
             });
  return function;
}

namespace {

struct PEExpandFunctionsPass : impl::PEExpandFunctionsPassBase<PEExpandFunctionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> sources;
    for (Operation &op : getOperation().getOps())
      if (isa<ScoreOpInterface, ContentOpInterface, EmbeddingOpInterface>(op) &&
          !isa<ScoreFnOp, ContentFnOp, EmbeddingFnOp>(op))
        sources.push_back(&op);
    for (Operation *source : sources) {
      Operation *function = expand(source);
      source->getResult(0).replaceAllUsesWith(function->getResult(0));
      source->erase();
    }
  }

  Operation *expand(Operation *source) {
    IRRewriter builder(source);
    Operation *function = nullptr;
    if (auto score = dyn_cast<ScoreOpInterface>(source))
      function = createScoreFunction(builder, score);
    else if (auto content = dyn_cast<ContentOpInterface>(source))
      function = createContentFunction(builder, content);
    else
      function = createEmbeddingFunction(builder, cast<EmbeddingOpInterface>(source));
    // Nothing is folded: embeddings are computed in float64, constants too.
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(builder, dominance, function);
    return function;
  }
};

} // namespace
} // namespace mlir::pe
