//===- AttentionParts.cpp - what the stages of an attention ask -----------===//
#include "passes/ToTile/AttentionParts.h"

#include "passes/ToTile/Normalizer.h"
#include "passes/Transforms/ExpandFunctions.h"

using namespace mlir;
using namespace mlir::pe;
using namespace mlir::tile;

/// Returns true for tensors of floating-point numbers.
static bool isFloating(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

FailureOr<std::unique_ptr<AttentionParts>> AttentionParts::create(Inputs &inputs,
                                                                  AttentionInputs given,
                                                                  AttentionPairs pairs,
                                                                  SharedTerms &shared) {
  std::unique_ptr<AttentionParts> parts(
      new AttentionParts(inputs, std::move(given), std::move(pairs)));
  if (failed(parts->createAll(inputs, shared)))
    return failure();
  return parts;
}

LogicalResult AttentionParts::createAll(Inputs &inputs, SharedTerms &shared) {
  AttentionOp op = given.op;
  FailureOr<AttentionFactors> found = factorsOf(op);
  if (failed(found))
    return failure();
  factors = *found;
  // A cotangent that is multiplied by the factor would be rounded again before the products.
  if (factors.perOutput && !context.operands.isF32()) {
    OpBuilder builder(op);
    if (factors.perPair)
      factors.perPair = createProduct(builder, op.getLoc(), {factors.perPair, factors.perOutput});
    else
      factors.perPair = factors.perOutput;
    factors.perOutput = {};
  }
  FailureOr<Prologues> created = Prologues::create(context, op, given.name);
  if (failed(created))
    return failure();
  prologues = std::move(*created);
  const AttentionResults results = inputs.results(op, given.name);
  const tile::Normalizer &normalizer = tile::Normalizer::of(op.getNormalizer());
  Value residual = context.grad ? normalizer.createResidual(context, given.name) : Value();
  if (isFactorOfQueries())
    prologues.addFactor(cast<ScoreFnOp>(op.getScore().getDefiningOp()));
  if (failed(createSink()))
    return failure();

  pass = std::make_unique<AttentionPass>(
      Attention(given.name, normalizer, traitsOf(op.getNormalizer()), sink.get()));
  Attention &a = pass->attention;
  a.operands = context.operands;
  a.scale = given.scale;
  a.earlyExit = context.earlyExit;
  a.pairs = pairs.pairs;
  a.predicate = pairs.predicate.get();
  a.o = results.o, a.dO = results.dO;
  a.statistic = results.statistic, a.dStatistic = results.dStatistic;
  a.residual = residual;
  if (failed(createOutputFactor(a)))
    return failure();
  if (failed(createTerms(*pass, pairs.range, shared)))
    return failure();
  FailureOr<Contents> all = Contents::create(context, op, given.rows, a, pairs.range, *pass->terms);
  if (failed(all))
    return failure();
  contents = std::move(*all);
  FailureOr<KernelRows> rows = prologues.prepare(contents.rows(), inputs.innerType());
  if (failed(rows))
    return failure();
  a.rows = *rows;
  if (failed(createValueRotation(a, inputs.innerType())))
    return failure();
  createRest();

  createSides();
  if (later && failed(createTerms(*later, *pairs.laterRange, shared)))
    return failure();
  if (failed(prepare(*pass)) || failed(contents.prepare()) || failed(createFactor(*pass)))
    return failure();
  return later ? failure(failed(prepare(*later)) || failed(createFactor(*later))) : success();
}

/// Creates the start of a row's statistics, if they do not start without keys.
LogicalResult AttentionParts::createSink() {
  AttentionOp op = given.op;
  if (op.getLogits() || op.getSeed())
    return op.emitError("expected sinks and dropout as values; run pe-expand-functions before");
  if (!op.getSink())
    return success();
  sink = std::make_unique<Sink>(context, cast<SinkFnOp>(op.getSink().getDefiningOp()),
                                given.name + "_sink");
  return sink->prepare();
}

/// Creates the terms that a pass adds to its scores.
LogicalResult AttentionParts::createTerms(AttentionPass &pass, const DifferenceRange &range,
                                          SharedTerms &shared) {
  FailureOr<SmallVector<TermOp>> terms = termsOf(given.op);
  if (failed(terms))
    return failure();
  pass.terms = std::make_unique<AttentionTerms>(context, *terms, pass.attention, range, shared);
  pass.attention.terms = pass.terms.get();
  return success();
}

/// Keeps the part of the output that rounding to 16 bits removes. Kernels that compute in f32 keep
/// the entire output. Others keep the rest if gradients of parameters are summed over the pairs:
/// large numbers of both signs cancel only if the row constant is accurate.
void AttentionParts::createRest() {
  Attention &a = pass->attention;
  const Type output = elementOf(a.o);
  if (context.plan.widens) {
    if (context.grad && a.normalizer->readsOutput() && !output.isF32())
      a.oWide = context.buffer(a.name + "_output_wide", Role::Residual, {"b", "hq", "r", "e"});
    return;
  }
  if (!context.grad || !a.normalizer->readsOutput() || a.content ||
      output.getIntOrFloatBitWidth() != 16)
    return;
  AttentionOp op = given.op;
  SmallVector<Value> functions(op.getPrologues());
  llvm::append_range(functions, op.getContents());
  llvm::append_range(functions, op.getBiases());
  for (Value function : {Value(op.getRotation()), Value(op.getScore()), Value(op.getSink())})
    if (function)
      functions.push_back(function);
  const bool hasParameters = llvm::any_of(functions, [&](Value function) {
    return llvm::any_of(function.getDefiningOp()->getOperands(), isFloating);
  });
  if (hasParameters)
    a.oRest =
        context.buffer(a.name + "_output_rest", Role::Residual, {"b", "hq", "r", "e"}, output);
}

/// Creates the buffers of stick-breaking on both sides or with a remainder, and its second pass.
void AttentionParts::createSides() {
  Attention &a = pass->attention;
  const bool keepsRemainder = given.op.getRemainder() == Remainder::Value;
  if (!pairs.laterRange && !keepsRemainder)
    return;
  sides.emplace(context, a, pairs.laterRange.has_value(), keepsRemainder, pairs.predicate.get());
  if (pairs.laterRange) {
    later = std::make_unique<AttentionPass>(a);
    Attention &after = later->attention;
    after.name += "_after";
    after.isAfter = true;
    after.pairs = withRange(context.plan, a.pairs, pairs.laterRange->ofPositions());
    if (context.grad)
      after.residual = after.normalizer->createResidual(context, after.name);
  }
  sides->add(a);
  if (later)
    sides->add(later->attention);
}

/// Creates the function of the scores, and the tables of the terms.
LogicalResult AttentionParts::prepare(AttentionPass &pass) {
  Attention &a = pass.attention;
  Value score = given.op.getScore();
  if (score && !isFactorOfQueries()) {
    pass.score = std::make_unique<ScoreFunction>(context, cast<ScoreFnOp>(score.getDefiningOp()),
                                                 a.name + "_score");
    if (failed(pass.score->prepare()))
      return failure();
    a.transform = pass.score.get();
  }
  return pass.terms->prepare();
}

/// Creates the factor on the output. The output of `attention` is then that without the factor.
LogicalResult AttentionParts::createOutputFactor(Attention &attention) {
  if (!factors.perOutput)
    return success();
  outputFactor.emplace(context, factors.perOutput, attention, attention.name + "_row_factor");
  return outputFactor->prepare();
}

/// Creates the rotation of values and output. The rows of `attention` are then rotated.
LogicalResult AttentionParts::createValueRotation(Attention &attention, Type inner) {
  if (!given.op.getValueRotation())
    return success();
  FailureOr<ValueRotation> created = ValueRotation::create(context, given.op, given.name);
  if (failed(created))
    return failure();
  valueRotation.emplace(std::move(*created));
  return valueRotation->prepare(attention, inner);
}

/// Creates the factor on the weights.
LogicalResult AttentionParts::createFactor(AttentionPass &pass) {
  FactorFnOp function = factors.perPair;
  Attention &a = pass.attention;
  if (!function || FactorFunction::isOne(function))
    return success();
  pass.factor = std::make_unique<FactorFunction>(context, function, a.name + "_factor");
  a.factor = pass.factor.get();
  return pass.factor->prepare();
}

/// Returns true if a factor of the score goes into the queries: not if these would then be
/// rounded again.
bool AttentionParts::isFactorOfQueries() {
  return given.op.getScore() && context.operands.isF32() &&
         cast<ScoreFnOp>(given.op.getScore().getDefiningOp()).getPerQuery();
}
