//===- PEToTile.cpp - the entry function as a plan ---===//
#include "passes/ToTile/ToTile.h"

#include "passes/ToTile/AttentionAlgorithm.h"
#include "passes/ToTile/Embedding.h"
#include "passes/ToTile/Materialize.h"
#include "passes/ToTile/Merge.h"

#include "mlir/IR/BuiltinOps.h"

#define DEBUG_TYPE "pe-to-tile"

namespace mlir::pe {
#define GEN_PASS_DEF_PETOTILEPASS
#include "passes/ToTile/Passes.h.inc"

using namespace mlir::tile;

namespace {

/// Lowers one entry function to a plan.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, std::unique_ptr<Inputs> inputs)
      : function(function), inputs(std::move(inputs)), context(this->inputs->plan()) {}

  /// Adds the stages of all attentions, embeddings and merges.
  LogicalResult run();
  /// Adds the bias and the rotation of the only attention as results, in place of running it.
  LogicalResult materialize();

private:
  struct LoweredEmbed {
    EmbedOp op;
    Embedding *embedding;
    Value x, y, dX, dY;
    std::unique_ptr<TokenDropout> dropout;
  };

  LogicalResult lower(AttentionOp op);
  LogicalResult lower(EmbedOp op);
  void lower(MergeOp op);
  void noteWindow();
  void emitForward();
  void emitBackward();
  void emitEmbedBackward();

  func::FuncOp function;
  std::unique_ptr<Inputs> inputs;
  PlanContext &context;
  SharedTerms sharedTerms;
  SmallVector<AttentionAlgorithm> attentions;
  llvm::MapVector<Operation *, std::unique_ptr<Embedding>> embeddings;
  SmallVector<LoweredEmbed> embeds;
  SmallVector<std::unique_ptr<Merge>> merges;
};

/// Records in the plan which pairs its attention visits, unless there are several attentions.
void FunctionLowering::noteWindow() {
  auto all = function.getOps<AttentionOp>();
  if (!llvm::hasSingleElement(all))
    return;
  const DifferenceRange range = (*all.begin()).getPairRange().ofPositions();
  const bool hasLow = range.min != DifferenceRange::kUnboundedMin,
             hasHigh = range.max != DifferenceRange::kUnboundedMax;
  PlanOp plan = inputs->planOp();
  if (hasLow)
    plan.setMaskLow(range.min);
  if (hasHigh)
    plan.setMaskHigh(range.max);
  plan.setMaskNone(!hasLow && !hasHigh);
}

LogicalResult FunctionLowering::lower(AttentionOp op) {
  std::string name = function.getName().str();
  if (!attentions.empty())
    name += "_" + std::to_string(attentions.size());
  FailureOr<AttentionInputs> given = AttentionInputs::create(*inputs, op, std::move(name));
  if (failed(given))
    return failure();
  FailureOr<AttentionPairs> pairs = AttentionPairs::create(context, *given);
  if (failed(pairs))
    return failure();
  FailureOr<std::unique_ptr<AttentionParts>> parts =
      AttentionParts::create(*inputs, std::move(*given), std::move(*pairs), sharedTerms);
  if (failed(parts))
    return failure();
  attentions.emplace_back(std::move(*parts));
  return success();
}

LogicalResult FunctionLowering::lower(EmbedOp op) {
  auto function = op.getEmbedding().getDefiningOp<EmbeddingFnOp>();
  std::unique_ptr<Embedding> &embedding = embeddings[function];
  if (!embedding) {
    const std::string number = embeddings.size() > 1 ? std::to_string(embeddings.size() - 1) : "";
    embedding = std::make_unique<Embedding>(context, function, "embedding" + number);
    if (failed(embedding->prepare()))
      return failure();
  }
  StringRef result = *inputs->returned(op.getOutput()); // checked by pe-check-dataflow
  SmallVector<StringRef> extents = {"b", "r", "model"};
  LoweredEmbed &embed = embeds.emplace_back();
  embed = {op, embedding.get(), inputs->buffer(op.getInput()), {}, inputs->gradient(op.getInput()),
           {}, nullptr};
  if (op.getSeed() && op.getDropout()->convertToDouble() > 0.0)
    embed.dropout = std::make_unique<TokenDropout>(inputs->buffer(op.getSeed()),
                                                   op.getDropout()->convertToDouble());
  embed.y = context.strided(result, Role::Result, extents, inputs->activation());
  if (context.grad)
    embed.dY = context.strided("d_" + result, Role::Cotangent, extents, inputs->activation());
  return success();
}

void FunctionLowering::lower(MergeOp op) {
  auto given = [&](Value o, Value statistic) {
    return AttentionResults{inputs->buffer(o), inputs->buffer(statistic), inputs->gradient(o),
                            inputs->gradient(statistic)};
  };
  const std::string number = merges.empty() ? "" : "_" + std::to_string(merges.size());
  merges.push_back(std::make_unique<Merge>(
      context, function.getName().str() + number,
      *tile::Normalizer::of(op.getNormalizer()).mergeRule(), given(op.getFirst(), op.getFirstLse()),
      given(op.getSecond(), op.getSecondLse()), inputs->results(op),
      op.getSink() ? &context.parameters[op.getSink()] : nullptr));
}

void FunctionLowering::emitEmbedBackward() {
  for (auto &[op, embedding] : embeddings) {
    SmallVector<Embedding::Cotangent> cotangents;
    for (LoweredEmbed &embed : embeds)
      if (embed.embedding == embedding.get())
        cotangents.push_back(
            {embed.dY, embed.dropout.get(), embed.dX,
             ("d_" + inputs->nameOf(cast<BlockArgument>(embed.op.getInput()))).str()});
    embedding->emitBackward(cotangents);
  }
}

void FunctionLowering::emitForward() {
  for (AttentionAlgorithm &attention : attentions)
    attention.emitForward(context);
  for (LoweredEmbed &embed : embeds)
    embed.embedding->emitForward(embed.x, embed.y, embed.dropout.get(),
                                 *inputs->returned(embed.op.getOutput()));
  for (auto &merge : merges)
    merge->emitForward();
}

void FunctionLowering::emitBackward() {
  emitEmbedBackward();
  for (auto &merge : merges)
    merge->emitBackward();
  for (AttentionAlgorithm &attention : llvm::reverse(attentions))
    attention.emitBackward(context.plan);
  inputs->storeParameterGradients();
}

LogicalResult FunctionLowering::materialize() {
  auto all = function.getOps<AttentionOp>();
  if (!llvm::hasSingleElement(all))
    return function.emitError("expected one attention to materialize its bias, found ")
           << std::distance(all.begin(), all.end());
  AttentionOp op = *all.begin();
  Attention a(function.getName().str(), tile::Normalizer::of(op.getNormalizer()),
              traitsOf(op.getNormalizer()));
  a.pairs = allPairs(context.plan);
  FailureOr<SmallVector<TermOp>> terms = termsOf(op);
  if (failed(terms))
    return failure();
  auto rotation = op.getRotation() ? op.getRotation().getDefiningOp<RotationOpInterface>()
                                   : RotationOpInterface();
  if (rotation && failed(rotation.verifyHeadDim(context.headDim, [&] { return op.emitError(); })))
    return failure();
  AttentionTerms lowered(context, *terms, a, DifferenceRange(), sharedTerms);
  a.terms = &lowered;
  if (failed(lowered.prepare()))
    return failure();
  emitBias(context, a);
  return rotation ? emitRotationTables(context, rotation, a.name) : success();
}

LogicalResult FunctionLowering::run() {
  noteWindow();
  for (auto attention : function.getOps<AttentionOp>())
    if (failed(lower(attention)))
      return failure();
  for (auto embed : function.getOps<EmbedOp>())
    if (failed(lower(embed)))
      return failure();
  for (auto merge : function.getOps<MergeOp>())
    lower(merge);
  emitForward();
  if (context.grad)
    emitBackward();
  return success();
}

struct PEToTilePass : impl::PEToTilePassBase<PEToTilePass> {
  using Base::Base;

  void runOnOperation() override {
    PEToTilePassOptions options{.entry = entry,
                                .headDim = headDim,
                                .valueDim = valueDim,
                                .dtype = dtype,
                                .widen = widen,
                                .fewRows = fewRows,
                                .grad = grad,
                                .ownElements = ownElements,
                                .earlyExit = earlyExit,
                                .materialize = materialize};
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && (entry.empty() || function.getName() == entry))
        functions.push_back(function);
    if (functions.size() != 1) {
      getOperation().emitError("expected one entry function, found ") << functions.size();
      return signalPassFailure();
    }
    if (failed(lower(functions.front(), options)))
      return signalPassFailure();
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      function.erase();
  }

private:
  static LogicalResult lower(func::FuncOp function, const PEToTilePassOptions &options) {
    FailureOr<std::unique_ptr<Inputs>> inputs = Inputs::create(function, options);
    if (failed(inputs))
      return failure();
    FunctionLowering lowering(function, std::move(*inputs));
    return options.materialize ? lowering.materialize() : lowering.run();
  }
};

} // namespace
} // namespace mlir::pe
