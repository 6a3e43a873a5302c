//===- ExpandFunctions.cpp - score functions, contents, embeddings as regions -===//
//
// See Passes.td for an example. The pass does not depend on particular encodings: it uses
// ScoreOpInterface, ContentOpInterface, FactorOpInterface, SinkOpInterface and
// EmbeddingOpInterface, and creates the region op of each kind. The shorthand clauses of attention,
// sinks as a tensor and dropout, also become such ops.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/ExpandFunctions.h"

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "pe-expand-functions"

namespace mlir::pe {
#define GEN_PASS_DEF_PEEXPANDFUNCTIONSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Fills `body` with the code of `source`: arguments of the types `leading`, then one per capture.
/// `build` receives the leading arguments and, for each operand of the source, its argument, or
/// null for an operand that is not a capture.
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

/// Returns the operands of an op without duplicates and without `others`.
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
  auto function =
      ContentFnOp::create(builder, op.getLoc(), builder.getType<ContentType>(), captures, shift,
                          projection, /*factor=*/Value(), /*extent=*/IntegerAttr(), ContentAttr());
  const SmallVector<Type> leading(6, builder.getIndexType());
  fillRegion(function.getBody(), op, leading, captures,
             [&](OpBuilder &b, ValueRange at, ValueRange operands) {
               return op.buildElement(b, op.getLoc(), {pairOf(at), at[4], at[5]}, operands);
             });
  return function;
}

FactorFnOp createFactorFunction(OpBuilder &builder, FactorOpInterface op) {
  SmallVector<Value> captures = capturesOf(op);
  auto function = FactorFnOp::create(builder, op.getLoc(), builder.getType<FactorType>(), captures);
  const SmallVector<Type> leading(4, builder.getIndexType());
  fillRegion(function.getBody(), op, leading, captures,
             [&](OpBuilder &b, ValueRange at, ValueRange operands) {
               return op.buildFactor(b, op.getLoc(), pairOf(at), operands);
             });
  return function;
}

SinkFnOp createSinkFunction(OpBuilder &builder, SinkOpInterface op) {
  SmallVector<Value> captures = capturesOf(op);
  auto function = SinkFnOp::create(builder, op.getLoc(), builder.getType<SinkType>(), captures);
  const SmallVector<Type> leading(3, builder.getIndexType());
  fillRegion(function.getBody(), op, leading, captures,
             [&](OpBuilder &b, ValueRange at, ValueRange operands) {
               return op.buildLogit(b, op.getLoc(), {at[0], at[1], at[2], Value()}, operands);
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

//===----------------------------------------------------------------------===//
// Shorthand clauses of attention
//===----------------------------------------------------------------------===//

/// Creates a sink that reads element h of a tensor.
Value createSinkOf(OpBuilder &builder, AttentionOp attention) {
  Value logits = attention.getLogits();
  Location loc = attention.getLoc();
  auto function = SinkFnOp::create(builder, loc, builder.getType<SinkType>(), logits);
  Block &block = function.getBody().emplaceBlock();
  block.addArguments(SmallVector<Type>(3, builder.getIndexType()), SmallVector<Location>(3, loc));
  Value tensor = block.addArgument(logits.getType(), loc);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value logit = ReadOp::create(inner, loc, inner.getF32Type(), tensor, block.getArgument(1));
  YieldOp::create(inner, loc, logit);
  return function;
}

/// Creates a factor with one draw per pair.
Value createDropout(OpBuilder &builder, AttentionOp attention) {
  Value seed = attention.getSeed();
  Location loc = attention.getLoc();
  auto function = FactorFnOp::create(builder, loc, builder.getType<FactorType>(), seed);
  Block &block = function.getBody().emplaceBlock();
  block.addArguments(SmallVector<Type>(4, builder.getIndexType()), SmallVector<Location>(4, loc));
  Value tensor = block.addArgument(seed.getType(), loc);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value factor =
      DropoutFactorOp::create(inner, loc, inner.getF32Type(), attention.getDropoutAttr(), tensor);
  YieldOp::create(inner, loc, factor);
  return function;
}

} // namespace

FactorFnOp createProduct(OpBuilder &builder, Location loc, ArrayRef<Value> factors) {
  llvm::SmallSetVector<Value, 4> captures;
  for (Value factor : factors)
    captures.insert_range(factor.getDefiningOp()->getOperands());
  auto function =
      FactorFnOp::create(builder, loc, builder.getType<FactorType>(), captures.getArrayRef());
  Block &block = function.getBody().emplaceBlock();
  block.addArguments(SmallVector<Type>(4, builder.getIndexType()), SmallVector<Location>(4, loc));
  IRMapping arguments;
  for (Value capture : captures)
    arguments.map(capture, block.addArgument(capture.getType(), loc));
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  const PairPoint point = pairOf(block.getArguments().take_front(4));
  Value product;
  for (Value factor : factors) {
    auto op = factor.getDefiningOp<FactorFnOp>();
    SmallVector<Value> operands = llvm::map_to_vector(
        op.getCaptures(), [&](Value capture) { return arguments.lookup(capture); });
    Value next = op.buildFactor(inner, op.getLoc(), point, operands);
    product = product ? arith::MulFOp::create(inner, loc, product, next).getResult() : next;
  }
  YieldOp::create(inner, loc, product);
  return function;
}

namespace {

/// Replaces sinks and dropout by values and factors by their product. Erases unused values.
void expandModes(AttentionOp attention) {
  OpBuilder builder(attention);
  if (attention.getLogits())
    attention.getSinkMutable().assign(createSinkOf(builder, attention));
  SmallVector<Value> factors(attention.getFactors());
  if (attention.getSeed()) {
    factors.push_back(createDropout(builder, attention));
    attention.getSeedMutable().clear();
    attention.removeDropoutAttr();
  }
  if (factors.size() > 1) {
    SmallVector<Value> parts = std::move(factors);
    factors = {createProduct(builder, attention.getLoc(), parts)};
    attention.getFactorsMutable().assign(factors);
    for (Value part : parts)
      if (part.use_empty())
        part.getDefiningOp()->erase();
    return;
  }
  attention.getFactorsMutable().assign(factors);
}

struct PEExpandFunctionsPass : impl::PEExpandFunctionsPassBase<PEExpandFunctionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> sources;
    for (Operation &op : getOperation().getOps())
      if (isa<ScoreOpInterface, ContentOpInterface, FactorOpInterface, SinkOpInterface,
              EmbeddingOpInterface>(op) &&
          !isa<ScoreFnOp, ContentFnOp, FactorFnOp, SinkFnOp, EmbeddingFnOp>(op))
        sources.push_back(&op);
    for (Operation *source : sources) {
      Operation *function = expand(source);
      source->getResult(0).replaceAllUsesWith(function->getResult(0));
      source->erase();
    }
    for (auto attention : getOperation().getOps<AttentionOp>())
      expandModes(attention);
  }

  Operation *expand(Operation *source) {
    IRRewriter builder(source);
    Operation *function = nullptr;
    if (auto score = dyn_cast<ScoreOpInterface>(source))
      function = createScoreFunction(builder, score);
    else if (auto content = dyn_cast<ContentOpInterface>(source))
      function = createContentFunction(builder, content);
    else if (auto factor = dyn_cast<FactorOpInterface>(source))
      function = createFactorFunction(builder, factor);
    else if (auto sink = dyn_cast<SinkOpInterface>(source))
      function = createSinkFunction(builder, sink);
    else
      function = createEmbeddingFunction(builder, cast<EmbeddingOpInterface>(source));
    // Nothing is folded: embeddings, including their constants, are computed in float64.
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(builder, dominance, function);
    return function;
  }
};

} // namespace
} // namespace mlir::pe
