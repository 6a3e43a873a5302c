//===- Differentiate.cpp - gradient functions -----------------------------===//
//
// See Passes.td for an example. Reverse mode over the straight-line code of a function: cotangents
// of tensors are summed by arith.addf, adjoints of biases by pe.add_adjoints.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PE.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Transforms/ScalarVjp.h"

#define DEBUG_TYPE "pe-differentiate"

namespace mlir::pe {
#define GEN_PASS_DEF_PEDIFFERENTIATEPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

bool isFloating(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Builds the gradient function of one function.
class Differentiator {
public:
  explicit Differentiator(func::FuncOp source)
      : source(source), builder(source.getContext()), loc(source.getLoc()) {}

  /// Returns the gradient function, not yet in a module, or failure after an error.
  FailureOr<func::FuncOp> run();

private:
  void createFunction();
  LogicalResult goThrough(Operation *op);
  LogicalResult differentiate(AttentionOp attention);
  LogicalResult differentiate(EmbeddingFnOp embedding, Value cotangent);
  void differentiate(MergeOp merge);
  /// Propagates an adjoint through the op of a bias or score function to its captures.
  template <typename PullbackOf, typename RegionOp> LogicalResult pullBack(RegionOp op);
  template <typename PullbackOf> void addPullback(Operation *op, ValueRange tensors);
  void addGradient(Value value, Value gradient);
  void addAdjoint(Value bias, Value adjoint);
  /// Returns the gradient of `value` accumulated so far, or zeros.
  Value gradientOf(Value value);
  void addResults();

  func::FuncOp source, result;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> forwardResults;
  llvm::DenseMap<Value, Value> gradients, adjoints;
};

/// Creates a private function with the arguments of the source, one cotangent per floating result,
/// and the forward operations.
void Differentiator::createFunction() {
  Block &from = source.getBody().front();
  SmallVector<Type> types(source.getArgumentTypes());
  auto results = from.getTerminator()->getOperands();
  for (Value value : results)
    if (isFloating(value.getType()))
      types.push_back(value.getType());
  result = func::FuncOp::create(loc, (source.getSymName() + "_grad").str(),
                                builder.getFunctionType(types, {}));
  result.setPrivate();
  result->setAttr("pe.gradient_of", FlatSymbolRefAttr::get(source.getSymNameAttr()));
  Block *entry = result.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  for (BlockArgument argument : from.getArguments()) {
    unsigned number = argument.getArgNumber();
    mapping.map(argument, entry->getArgument(number));
    if (auto attrs = source.getArgAttrDict(number))
      result.setArgAttrs(number, attrs);
  }
  for (Operation &op : from.without_terminator())
    builder.clone(op, mapping);
  unsigned cotangent = from.getNumArguments();
  for (auto [number, value] : llvm::enumerate(results)) {
    if (!isFloating(value.getType()))
      continue;
    if (auto name = source.getResultAttrOfType<StringAttr>(number, "pe.name"))
      result.setArgAttr(cotangent, "pe.name", builder.getStringAttr("d_" + name.getValue()));
    addGradient(mapping.lookup(value), entry->getArgument(cotangent++));
  }
}

void Differentiator::addGradient(Value value, Value gradient) {
  Value &sum = gradients[value];
  sum = sum ? arith::AddFOp::create(builder, loc, sum, gradient).getResult() : gradient;
}

void Differentiator::addAdjoint(Value bias, Value adjoint) {
  Value &sum = adjoints[bias];
  sum = sum ? AddAdjointsOp::create(builder, loc, sum, adjoint).getResult() : adjoint;
}

Value Differentiator::gradientOf(Value value) {
  Value gradient = gradients.lookup(value);
  return gradient ? gradient : ZerosLikeOp::create(builder, loc, value).getResult();
}

LogicalResult Differentiator::differentiate(AttentionOp attention) {
  Value lse = attention.getLse() ? gradients.lookup(attention.getLse()) : Value();
  SmallVector<Value> adjointOf = AttentionGradOp::getDifferentiated(attention);
  SmallVector<Type> adjointTypes(adjointOf.size(), AdjointType::get(builder.getContext()));
  auto grad = AttentionGradOp::create(builder, attention.getLoc(), attention.getQuery().getType(),
                                      attention.getKey().getType(), attention.getValue().getType(),
                                      adjointTypes, attention.getOutput(),
                                      gradientOf(attention.getOutput()), lse);
  addGradient(attention.getQuery(), grad.getQueryGrad());
  addGradient(attention.getKey(), grad.getKeyGrad());
  addGradient(attention.getValue(), grad.getValueGrad());
  for (auto [value, adjoint] : llvm::zip_equal(adjointOf, grad.getAdjoints()))
    addAdjoint(value, adjoint);
  return success();
}

template <typename PullbackOf, typename RegionOp>
LogicalResult Differentiator::pullBack(RegionOp op) {
  if (op.getCaptures().empty())
    return success();
  // Ops without a derivative are rejected here, at the user's line.
  for (Region &region : op->getRegions()) {
    auto yield = cast<YieldOp>(region.front().getTerminator());
    SmallVector<Value> draws;
    for (auto draw : region.getOps<DropoutFactorOp>())
      draws.push_back(draw);
    if (failed(ScalarVjp::create(yield.getValues()[0], draws)))
      return failure();
  }
  addPullback<PullbackOf>(op, op.getCaptures());
  return success();
}

LogicalResult Differentiator::differentiate(EmbeddingFnOp embedding, Value cotangent) {
  if (!embedding || embedding.getCaptures().empty())
    return success();
  auto yield = cast<YieldOp>(embedding.getBody().front().getTerminator());
  if (failed(ScalarVjp::create(yield.getValues()[0])))
    return failure();
  auto pullback =
      EmbeddingPullbackOp::create(builder, embedding.getLoc(), embedding.getCaptures().getTypes(),
                                  embedding.getResult(), cotangent);
  for (auto [capture, gradient] : llvm::zip_equal(embedding.getCaptures(), pullback.getGradients()))
    addGradient(capture, gradient);
  return success();
}

void Differentiator::differentiate(MergeOp merge) {
  auto grad =
      MergeGradOp::create(builder, merge.getLoc(), merge->getOperandTypes(), merge.getOutput(),
                          gradientOf(merge.getOutput()), gradients.lookup(merge.getLse()));
  for (auto [operand, gradient] : llvm::zip_equal(merge->getOperands(), grad.getGradients()))
    addGradient(operand, gradient);
}

template <typename PullbackOf> void Differentiator::addPullback(Operation *op, ValueRange tensors) {
  Value result = op->getResult(0);
  auto pullback = PullbackOf::create(builder, op->getLoc(), tensors.getTypes(), result,
                                     adjoints.lookup(result));
  for (auto [tensor, gradient] : llvm::zip_equal(tensors, pullback.getGradients()))
    addGradient(tensor, gradient);
}

/// Differentiates one forward operation.
LogicalResult Differentiator::goThrough(Operation *op) {
  bool isReached = llvm::any_of(op->getResults(), [&](Value value) {
    return gradients.contains(value) || adjoints.contains(value);
  });
  if (!isReached || op->getNumOperands() == 0)
    return success();
  if (auto attention = dyn_cast<AttentionOp>(op))
    return differentiate(attention);
  if (auto bias = dyn_cast<BiasFnOp>(op))
    return pullBack<PullbackOp>(bias);
  if (auto term = dyn_cast<TermOp>(op))
    return pullBack<PullbackOp>(term);
  if (auto score = dyn_cast<ScoreFnOp>(op))
    return pullBack<ScorePullbackOp>(score);
  if (auto factor = dyn_cast<FactorFnOp>(op))
    return pullBack<WeightPullbackOp>(factor);
  if (auto sink = dyn_cast<SinkFnOp>(op))
    return pullBack<WeightPullbackOp>(sink);
  if (auto merge = dyn_cast<MergeOp>(op)) {
    differentiate(merge);
    return success();
  }
  if (auto embed = dyn_cast<EmbedOp>(op)) {
    Value gradient = gradientOf(embed.getOutput());
    if (embed.getSeed())
      gradient = EmbedGradOp::create(builder, embed.getLoc(), gradient.getType(), gradient,
                                     embed.getSeed(), embed.getDropoutAttr());
    addGradient(embed.getInput(), gradient);
    return differentiate(embed.getEmbedding().getDefiningOp<EmbeddingFnOp>(), gradient);
  }
  if (isa<PrologueOpInterface, RotationOpInterface, ContentFnOp>(op)) {
    addPullback<ProloguePullbackOp>(op, op->getOperands());
    return success();
  }
  if (isa<BiasType>(op->getResult(0).getType()))
    return op->emitOpError("expected every bias to be a pe.bias_fn before differentiation; run "
                           "pe-expand-biases first");
  return op->emitOpError("expected pe.attention between arguments and results, found an operation "
                         "without a derivative at this level");
}

/// Returns the gradients of the floating arguments of the source, named.
void Differentiator::addResults() {
  SmallVector<Value> values;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned number = 0; number < source.getNumArguments(); ++number) {
    BlockArgument argument = result.getArgument(number);
    if (!isFloating(argument.getType()))
      continue;
    values.push_back(gradientOf(argument));
    types.push_back(argument.getType());
    SmallVector<NamedAttribute> attrs;
    if (auto name = source.getArgAttrOfType<StringAttr>(number, "pe.name"))
      attrs.push_back(
          builder.getNamedAttr("pe.name", builder.getStringAttr("d_" + name.getValue())));
    attributes.push_back(builder.getDictionaryAttr(attrs));
  }
  func::ReturnOp::create(builder, loc, values);
  result.setType(builder.getFunctionType(result.getArgumentTypes(), types));
  result.setAllResultAttrs(attributes);
}

FailureOr<func::FuncOp> Differentiator::run() {
  createFunction();
  SmallVector<Operation *> forward;
  for (Operation &op : result.getBody().front())
    forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward))
    if (failed(goThrough(op))) {
      result->erase();
      return failure();
    }
  addResults();
  return result;
}

struct DifferentiatePass : impl::PEDifferentiatePassBase<DifferentiatePass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isDeclaration())
        functions.push_back(function);
    for (func::FuncOp function : functions) {
      std::string name = (function.getSymName() + "_grad").str();
      if (Operation *taken = symbols.lookup(name)) {
        taken->emitError("expected no function named '")
            << name << "', the name of the gradient of '" << function.getSymName()
            << "'; rename it";
        return signalPassFailure();
      }
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("expected straight-line code to differentiate, found control flow");
        return signalPassFailure();
      }
      FailureOr<func::FuncOp> gradient = Differentiator(function).run();
      if (failed(gradient))
        return signalPassFailure();
      getOperation().insert(std::next(Block::iterator(function)), *gradient);
    }
  }
};

} // namespace
} // namespace mlir::pe
