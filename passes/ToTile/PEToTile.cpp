//===- PEToTile.cpp - the entry function as a plan ---===//
#include "passes/ToTile/ToTile.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/Tile/SizeNames.h"
#include "passes/Analysis/ScoreFactor.h"
#include "passes/ToTile/ContentTerm.h"
#include "passes/ToTile/DocumentBounds.h"
#include "passes/ToTile/Embedding.h"
#include "passes/ToTile/FactorFunction.h"
#include "passes/ToTile/Materialize.h"
#include "passes/ToTile/Merge.h"
#include "passes/ToTile/Pairs.h"
#include "passes/ToTile/Prologue.h"
#include "passes/ToTile/ScoreFunction.h"
#include "passes/ToTile/Sides.h"
#include "passes/ToTile/Sink.h"
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#define DEBUG_TYPE "pe-to-tile"

namespace mlir::pe {
#define GEN_PASS_DEF_PETOTILEPASS
#include "passes/ToTile/Passes.h.inc"

using namespace mlir::tile;

namespace {

/// Lowers one entry function to a plan.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, const PEToTilePassOptions &options)
      : function(function), options(options), builder(function.getContext()) {}

  LogicalResult run();

private:
  struct Lowered {
    AttentionOp op;
    Attention attention;
    std::unique_ptr<AttentionTerms> terms;
    std::unique_ptr<ScoreFunction> score;    // null: the score itself
    std::unique_ptr<MaskFunction> predicate; // null: no mask is code
    std::unique_ptr<Sink> sink;
    std::unique_ptr<FactorFunction> factor; // null: 1
    std::optional<Prologues> prologues;
    std::optional<Sides> sides;     // of stick-breaking, where one stream does not give the output
    std::unique_ptr<Lowered> after; // its pass over the keys after a query, where there are two
    std::optional<Contents> contents;
  };

  struct LoweredEmbed {
    EmbedOp op;
    Embedding *embedding;
    Value x, y, dX, dY;
    std::unique_ptr<TokenDropout> dropout;
  };

  LogicalResult createPlan();
  void declareParameters(TileBuilder &t);
  void declareExtents(TileBuilder &t);
  LogicalResult createArguments();
  LogicalResult createGradients();
  void createBounds();
  LogicalResult lower(AttentionOp op);
  LogicalResult lower(EmbedOp op);
  void lower(MergeOp op);
  void emitEmbedBackward();
  LogicalResult checkRotation(AttentionOp op);
  LogicalResult materialize();
  LogicalResult createSink(Lowered &lowered);
  LogicalResult createFactor(Lowered &lowered);
  bool isFactorOfQueries(AttentionOp op);
  void noteWindow(const DifferenceRange &range);
  std::optional<StringRef> returned(Value value);
  void createResults(Lowered &lowered);
  void createRest(Lowered &lowered, ArrayRef<TermOp> terms);
  void createSides(Lowered &lowered, const DifferenceRange &later);
  LogicalResult createTerms(Lowered &lowered, const DifferenceRange &range);
  LogicalResult createScores(Lowered &lowered);
  AttentionResults resultsOf(Value output, Value lse);
  void emitForward(Lowered &lowered);
  void emitBackward(Lowered &lowered);
  void storeParameterGradients();
  StringRef nameOf(BlockArgument argument) {
    return function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.name").getValue();
  }
  /// Queries, keys, values, tokens or results of attentions, not a parameter.
  static bool isData(BlockArgument argument) {
    return llvm::any_of(argument.getUses(), [](OpOperand &use) {
      return (isa<AttentionOp>(use.getOwner()) && use.getOperandNumber() < 3) ||
             (isa<MergeOp>(use.getOwner()) && use.getOperandNumber() < 4) ||
             (isa<EmbedOp>(use.getOwner()) && use.getOperandNumber() == 0);
    });
  }
  /// Those of them that have a row of numbers per token: not a logarithm per row.
  static bool isActivation(BlockArgument argument) {
    return isData(argument) && llvm::none_of(argument.getUses(), [](OpOperand &use) {
             return isa<MergeOp>(use.getOwner()) && use.getOperandNumber() % 2 == 1;
           });
  }
  /// Returns true for tensors of floating-point numbers.
  static bool isFloating(Value value) {
    auto type = dyn_cast<ShapedType>(value.getType());
    return type && isa<FloatType>(type.getElementType());
  }

  func::FuncOp function;
  const PEToTilePassOptions &options;
  OpBuilder builder;
  Type activation; // element type of queries, keys, values, outputs and their gradients
  PlanOp plan;
  std::unique_ptr<PlanContext> context;
  DenseMap<Value, Value> buffers, gradients; // of arguments
  SharedTerms sharedTerms;
  SmallVector<std::unique_ptr<Lowered>> attentions;
  llvm::MapVector<Operation *, std::unique_ptr<Embedding>> embeddings;
  SmallVector<LoweredEmbed> embeds;
  SmallVector<std::unique_ptr<Merge>> merges;
};

LogicalResult FunctionLowering::createPlan() {
  activation = llvm::StringSwitch<Type>(options.dtype)
                   .Case("f32", builder.getF32Type())
                   .Case("bf16", builder.getBF16Type())
                   .Case("f16", builder.getF16Type())
                   .Case("tf32", builder.getF32Type())
                   .Default(Type());
  if (!activation)
    return function.emitError("expected dtype f32, bf16, f16 or tf32, found ") << options.dtype;
  builder.setInsertionPoint(function);
  // Without attention there are no depths to specialise for.
  const bool attends = !function.getOps<AttentionOp>().empty();
  plan = PlanOp::create(builder, function.getLoc(), function.getName(),
                        attends ? options.headDim : 0, attends ? options.valueDim : 0,
                        /*key_block=*/IntegerAttr(), /*distance_padding=*/0,
                        /*mask_low=*/IntegerAttr(), /*mask_high=*/IntegerAttr(),
                        /*mask_none=*/false, /*unplaced=*/false);
  Block &body = plan.getBody().emplaceBlock();
  TileBuilder t(function.getLoc(), OpBuilder::atBlockEnd(&body));
  declareExtents(t);
  declareParameters(t);
  for (const Requirement &required : requirementsOf(function))
    t.create<RequireOp>(t.getStringAttr(required.size), t.getStringAttr(required.least),
                        t.getStringAttr(required.what));
  for (const ValueRequirement &required : valueRequirementsOf(function))
    t.create<RequireValuesOp>(t.getStringAttr(required.tensor), required.isAscending,
                              t.getStringAttr(required.first), t.getStringAttr(required.last));
  context = std::make_unique<PlanContext>(
      PlanContext{.plan = t,
                  .grad = options.grad,
                  .earlyExit = options.earlyExit,
                  .headDim = options.headDim,
                  .valueDim = options.valueDim,
                  .operands = options.dtype == "tf32" ? Type(builder.getTF32Type()) : activation,
                  .parameters = {}});
  return success();
}

/// Where a call lies in the whole, if anything depends on that.
void FunctionLowering::declareParameters(TileBuilder &t) {
  if (function.getOps<AttentionOp>().empty()) {
    if (!function.getOps<EmbedOp>().empty())
      t.create<ParameterOp>("q_start", t.getStringAttr("0"));
    return;
  }
  declarePositions(t, function.getLoc());
  if (readsPositions(function))
    return;
  for (auto parameter : plan.getOps<ParameterOp>())
    if (parameter.getName() == "q_start")
      parameter.setFallback(StringRef(::pe::plan::kStartWithoutPositions));
  // Dropout counts from the starts of the call; nothing else would notice them.
  if (llvm::all_of(function.getOps<FactorFnOp>(),
                   [](FactorFnOp op) { return op.getDraws().empty(); }))
    plan.setUnplaced(true);
}

/// The sizes that only some arguments have.
void FunctionLowering::declareExtents(TileBuilder &t) {
  llvm::StringSet<> known;
  for (const ::pe::plan::FrameWord &word : getFrame(plan))
    known.insert(word.name);
  for (BlockArgument argument : function.getArguments())
    for (const std::string &extent : namedExtents(argument)) {
      auto size = ::pe::plan::SizeExpression::parse(extent);
      if (size && size->asName() && known.insert(extent).second)
        t.create<ExtentOp>(t.getStringAttr(extent));
    }
  // Whether an argument that may be left out is given (1) or not (0), which the runtime says.
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), "pe.absent"))
      t.create<ExtentOp>(t.getStringAttr(givenExtent(nameOf(argument))));
}

LogicalResult FunctionLowering::createArguments() {
  for (BlockArgument argument : function.getArguments()) {
    SmallVector<std::string> extents = namedExtents(argument);
    SmallVector<StringRef> names(extents.begin(), extents.end());
    Type element = cast<ShapedType>(argument.getType()).getElementType();
    if (isActivation(argument) && isa<FloatType>(element))
      element = activation;
    Value buffer = isActivation(argument)
                       ? context->strided(nameOf(argument), Role::Argument, names, element)
                       : context->buffer(nameOf(argument), Role::Argument, names, element);
    for (StringRef attribute : {"pe.init", "pe.min", "pe.decay", "pe.monitor", "pe.absent"})
      if (Attribute value = function.getArgAttr(argument.getArgNumber(), attribute))
        buffer.getDefiningOp()->setAttr(attribute, value);
    buffers[argument] = buffer;
  }
  return success();
}

LogicalResult FunctionLowering::createGradients() {
  for (BlockArgument argument : function.getArguments()) {
    const bool data = isData(argument);
    Value buffer = buffers[argument];
    Parameter parameter{nameOf(argument).str(), buffer};
    if (options.grad && isFloating(argument)) {
      SmallVector<StringRef> extents = parameter.extents();
      gradients[argument] =
          isActivation(argument)
              ? context->strided("d_" + nameOf(argument), Role::Gradient, extents, activation)
              : context->buffer("d_" + nameOf(argument), Role::Gradient, extents);
      parameter.gradient = gradients[argument];
      if (!data)
        parameter.gradientSums = context->temporary("sums_" + nameOf(argument), extents,
                                                    builder.getF64Type(), /*zero=*/true);
    }
    if (auto absent = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.absent"))
      for (BlockArgument other : function.getArguments())
        if (nameOf(other) == absent)
          parameter.absent = other;
    if (!data)
      context->parameters[argument] = parameter;
  }
  return success();
}

/// Where documents begin and end, for every query or key.
void FunctionLowering::createBounds() {
  for (auto [number, op] : llvm::enumerate(function.getOps<DocumentBoundsOp>()))
    createDocumentBounds(*context, op, (function.getName() + "_documents" + Twine(number)).str());
}

/// The name of a result of the function.
std::optional<StringRef> FunctionLowering::returned(Value value) {
  for (OpOperand &use : value.getUses())
    if (isa<func::ReturnOp>(use.getOwner()))
      return function.getResultAttrOfType<StringAttr>(use.getOperandNumber(), "pe.name").getValue();
  return std::nullopt;
}

/// Buffers for the op's results that the function returns; others stay inside.
void FunctionLowering::createResults(Lowered &lowered) {
  Attention &a = lowered.attention;
  std::optional<StringRef> output = returned(lowered.op.getOutput());
  SmallVector<StringRef> oExtents = {"b", "hq", "r", "e"}, lseExtents = {"b", "hq", "r"};
  a.o = output ? context->strided(*output, Role::Result, oExtents, activation)
               : context->kept(a.name + "_output", oExtents, activation);
  if (options.grad)
    a.dO = output
               ? context->strided("d_" + *output, Role::Cotangent, oExtents, activation)
               : context->temporary("d_" + a.name + "_output", oExtents, activation, /*zero=*/true);
  if (Value lse = lowered.op.getLse())
    if (std::optional<StringRef> name = returned(lse)) {
      a.statistic = context->buffer(*name, Role::Result, lseExtents);
      if (options.grad)
        a.dStatistic = context->buffer("d_" + *name, Role::Cotangent, lseExtents);
    }
  a.normalizer->createResidual(*context, a);
}

/// Keeps the part of the output that rounding to 16 bits removes, if gradients of parameters are
/// summed over the pairs: large numbers of both signs cancel only if the row constant is accurate.
void FunctionLowering::createRest(Lowered &lowered, ArrayRef<TermOp> terms) {
  Attention &a = lowered.attention;
  if (!options.grad || !a.normalizer->readsOutput() || a.content ||
      activation.getIntOrFloatBitWidth() != 16)
    return;
  AttentionOp op = lowered.op;
  SmallVector<Value> functions(op.getPrologues());
  llvm::append_range(functions, op.getContents());
  for (Value function : {Value(op.getRotation()), Value(op.getScore()), Value(op.getSink())})
    if (function)
      functions.push_back(function);
  const bool hasParameters = llvm::any_of(functions, [&](Value function) {
    return llvm::any_of(function.getDefiningOp()->getOperands(), isFloating);
  });
  if (hasParameters || llvm::any_of(terms, [&](TermOp term) {
        return llvm::any_of(term.getCaptures(), isFloating);
      }))
    a.oRest =
        context->buffer(a.name + "_output_rest", Role::Residual, {"b", "hq", "r", "e"}, activation);
}

/// Records in the plan which pairs its attention visits, unless there are several attentions.
void FunctionLowering::noteWindow(const DifferenceRange &range) {
  const bool isOnly = attentions.size() <= 1;
  const bool hasLow = range.min != DifferenceRange::kUnboundedMin,
             hasHigh = range.max != DifferenceRange::kUnboundedMax;
  plan.setMaskLow(isOnly && hasLow ? std::optional<int64_t>(range.min) : std::nullopt);
  plan.setMaskHigh(isOnly && hasHigh ? std::optional<int64_t>(range.max) : std::nullopt);
  plan.setMaskNone(isOnly && !hasLow && !hasHigh);
}

/// Where a row's statistics start, if not at nothing.
LogicalResult FunctionLowering::createSink(Lowered &lowered) {
  AttentionOp op = lowered.op;
  Attention &a = lowered.attention;
  if (op.getLogits() || op.getSeed() || op.getFactors().size() > 1)
    return op.emitError("expected sinks and dropout as values, and one factor; run "
                        "pe-expand-functions before");
  if (!op.getSink())
    return success();
  lowered.sink = std::make_unique<Sink>(*context, cast<SinkFnOp>(op.getSink().getDefiningOp()),
                                        a.name + "_sink");
  a.start = lowered.sink.get();
  return lowered.sink->prepare();
}

/// What a pass multiplies its weights by.
LogicalResult FunctionLowering::createFactor(Lowered &lowered) {
  auto factors = lowered.op.getFactors();
  auto function = factors.empty() ? FactorFnOp() : factors[0].getDefiningOp<FactorFnOp>();
  Attention &a = lowered.attention;
  if (!function || FactorFunction::isOne(function))
    return success();
  lowered.factor = std::make_unique<FactorFunction>(*context, function, a.name + "_factor");
  a.factor = lowered.factor.get();
  return lowered.factor->prepare();
}

LogicalResult FunctionLowering::checkRotation(AttentionOp op) {
  Value rotation = op.getRotation();
  return !rotation ? success()
                   : cast<RotationOpInterface>(rotation.getDefiningOp())
                         .verifyHeadDim(options.headDim, [&] { return op.emitError(); });
}

LogicalResult FunctionLowering::lower(AttentionOp op) {
  attentions.push_back(std::make_unique<Lowered>());
  Lowered &lowered = *attentions.back();
  Attention &a = lowered.attention;
  lowered.op = op;
  a.operands = context->operands;
  a.name = function.getName().str() +
           (attentions.size() > 1 ? "_" + std::to_string(attentions.size() - 1) : "");
  for (auto [value, slot, gradient] :
       {std::tuple{op.getQuery(), &a.q, &a.dQ}, std::tuple{op.getKey(), &a.k, &a.dK},
        std::tuple{op.getValue(), &a.v, &a.dV}}) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || !buffers.contains(argument))
      return op.emitError(
          "expected queries, keys and values to be arguments of the entry function, "
          "found the result of another operation");
    *slot = buffers[argument];
    *gradient = gradients.lookup(argument);
  }
  a.scale = op.getScale() ? op.getScale()->convertToDouble()
                          : 1.0 / std::sqrt(static_cast<double>(options.headDim));
  a.earlyExit = options.earlyExit;
  a.normalizer = &tile::Normalizer::of(op.getNormalizer());
  const bool isBoth = op.getDirection() == Direction::Both;
  const int64_t nearest = op.getAttendCurrent() ? 0 : 1;
  DifferenceRange range = op.getPairRange().ofPositions();
  noteWindow(range);
  const DifferenceRange later = DifferenceRange::both(range, {.max = -nearest});
  if (isBoth)
    range = DifferenceRange::both(range, DifferenceRange::atLeast(nearest));
  if (failed(createPairs(*context, op, range.ofPositions(), a, lowered.predicate)))
    return failure();
  FailureOr<Prologues> prologues = Prologues::create(*context, op, a.name);
  if (failed(prologues))
    return failure();
  lowered.prologues = std::move(*prologues);
  createResults(lowered);
  if (isFactorOfQueries(op))
    lowered.prologues->addFactor(cast<ScoreFnOp>(op.getScore().getDefiningOp()));
  // Content terms take the queries as they are given, before prologues.
  if (failed(createSink(lowered)) || failed(createTerms(lowered, range)) ||
      failed(lowered.prologues->prepare(a, activation)))
    return failure();
  createSides(lowered, later.ofPositions());
  if (isBoth && failed(createTerms(*lowered.after, later)))
    return failure();
  for (Lowered *pass : {&lowered, lowered.after.get()})
    if (pass && (failed(createScores(*pass)) || failed(createFactor(*pass))))
      return failure();
  return success();
}

/// What stick-breaking does beyond one pass over the keys before a query; `later` are the
/// differences of the pass over those after it.
void FunctionLowering::createSides(Lowered &lowered, const DifferenceRange &later) {
  AttentionOp op = lowered.op;
  Attention &a = lowered.attention;
  const bool isBoth = op.getDirection() == Direction::Both;
  const bool keepsRemainder = op.getRemainder() == Remainder::Value;
  if (!isBoth && !keepsRemainder)
    return;
  lowered.sides.emplace(*context, a, isBoth, keepsRemainder, lowered.predicate.get());
  if (isBoth) {
    lowered.after = std::make_unique<Lowered>();
    lowered.after->op = op;
    Attention &after = lowered.after->attention;
    after = a;
    after.name += "_after";
    after.isAfter = true;
    after.pairs = withRange(context->plan, a.pairs, later);
    after.normalizer->createResidual(*context, after);
  }
  lowered.sides->add(a);
  if (isBoth)
    lowered.sides->add(lowered.after->attention);
}

/// What a pass adds to its scores.
LogicalResult FunctionLowering::createTerms(Lowered &lowered, const DifferenceRange &range) {
  Attention &a = lowered.attention;
  FailureOr<SmallVector<TermOp>> terms = termsOf(lowered.op);
  if (failed(terms))
    return failure();
  lowered.terms = std::make_unique<AttentionTerms>(*context, *terms, a, range.min, sharedTerms);
  a.terms = lowered.terms.get();
  FailureOr<Contents> contents = Contents::create(*context, lowered.op, a, range, *lowered.terms);
  if (failed(contents))
    return failure();
  lowered.contents = std::move(*contents);
  createRest(lowered, *terms);
  return success();
}

/// What a pass makes of its scores, and the tables of its terms.
LogicalResult FunctionLowering::createScores(Lowered &lowered) {
  Attention &a = lowered.attention;
  Value score = lowered.op.getScore();
  if (score && !isFactorOfQueries(lowered.op)) {
    lowered.score = std::make_unique<ScoreFunction>(
        *context, cast<ScoreFnOp>(score.getDefiningOp()), a.name + "_score");
    if (failed(lowered.score->prepare()))
      return failure();
    a.transform = lowered.score.get();
  }
  if (failed(lowered.terms->prepare()))
    return failure();
  return lowered.contents->prepare();
}

/// Whether a factor of the score goes into the queries: not if these would then be rounded once
/// more.
bool FunctionLowering::isFactorOfQueries(AttentionOp op) {
  return op.getScore() && context->operands.isF32() &&
         isQueryFactor(cast<ScoreFnOp>(op.getScore().getDefiningOp()));
}

LogicalResult FunctionLowering::lower(EmbedOp op) {
  auto function = op.getEmbedding().getDefiningOp<EmbeddingFnOp>();
  std::unique_ptr<Embedding> &embedding = embeddings[function];
  if (!embedding) {
    const std::string number = embeddings.size() > 1 ? std::to_string(embeddings.size() - 1) : "";
    embedding = std::make_unique<Embedding>(*context, function, "embedding" + number);
    if (failed(embedding->prepare()))
      return failure();
  }
  StringRef result = *returned(op.getOutput()); // checked by pe-check-dataflow
  SmallVector<StringRef> extents = {"b", "r", "model"};
  LoweredEmbed &embed = embeds.emplace_back();
  embed = {op, embedding.get(), buffers[op.getInput()], {}, gradients.lookup(op.getInput()),
           {}, nullptr};
  if (op.getSeed() && op.getDropout()->convertToDouble() > 0.0)
    embed.dropout =
        std::make_unique<TokenDropout>(buffers[op.getSeed()], op.getDropout()->convertToDouble());
  embed.y = context->strided(result, Role::Result, extents, activation);
  if (options.grad)
    embed.dY = context->strided("d_" + result, Role::Cotangent, extents, activation);
  return success();
}

/// Results of the function and their cotangents. All are returned (pe-check-dataflow).
AttentionResults FunctionLowering::resultsOf(Value output, Value lse) {
  SmallVector<StringRef> outputs = {"b", "hq", "r", "e"}, rows = {"b", "hq", "r"};
  StringRef o = *returned(output), l = *returned(lse);
  AttentionResults results;
  results.o = context->strided(o, Role::Result, outputs, activation);
  results.lse = context->buffer(l, Role::Result, rows);
  if (options.grad) {
    results.dO = context->strided("d_" + o.str(), Role::Cotangent, outputs, activation);
    results.dLse = context->buffer("d_" + l.str(), Role::Cotangent, rows);
  }
  return results;
}

void FunctionLowering::lower(MergeOp op) {
  auto given = [&](Value o, Value lse) {
    return AttentionResults{buffers[o], buffers[lse], gradients.lookup(o), gradients.lookup(lse)};
  };
  const std::string number = merges.empty() ? "" : "_" + std::to_string(merges.size());
  merges.push_back(std::make_unique<Merge>(
      *context, function.getName().str() + number,
      *tile::Normalizer::of(op.getNormalizer()).mergeRule(), given(op.getFirst(), op.getFirstLse()),
      given(op.getSecond(), op.getSecondLse()), resultsOf(op.getOutput(), op.getLse()),
      op.getSink() ? &context->parameters[op.getSink()] : nullptr));
}

void FunctionLowering::emitEmbedBackward() {
  for (auto &[op, embedding] : embeddings) {
    SmallVector<Embedding::Cotangent> cotangents;
    for (LoweredEmbed &embed : embeds)
      if (embed.embedding == embedding.get())
        cotangents.push_back({embed.dY, embed.dropout.get(), embed.dX,
                              ("d_" + nameOf(cast<BlockArgument>(embed.op.getInput()))).str()});
    embedding->emitBackward(cotangents);
  }
}

void FunctionLowering::emitForward(Lowered &lowered) {
  tile::emitForward(context->plan, lowered.attention);
  if (lowered.after)
    tile::emitForward(context->plan, lowered.after->attention);
  if (lowered.sides)
    lowered.sides->emitForward();
}

void FunctionLowering::emitBackward(Lowered &lowered) {
  if (lowered.sides)
    lowered.sides->emitBackward();
  tile::emitBackward(context->plan, lowered.attention);
  if (lowered.after)
    tile::emitBackward(context->plan, lowered.after->attention);
  if (lowered.sides)
    lowered.sides->finish();
  lowered.prologues->finish();
  for (Lowered *pass : {lowered.after.get(), &lowered}) { // which may share terms with it
    if (!pass)
      continue;
    pass->terms->finish();
    pass->contents->finish();
    if (pass->score)
      pass->score->finish();
    if (pass->factor)
      pass->factor->finish();
  }
  if (lowered.sink)
    lowered.sink->finish();
}

/// The float64 sums, rounded once.
void FunctionLowering::storeParameterGradients() {
  bool any = llvm::any_of(context->parameters,
                          [](auto &entry) { return bool(entry.second.gradientSums); });
  if (!any)
    return;
  // What has a number per dimension of tokens is large: a stage of its own divides it.
  auto isLarge = [](const Parameter &parameter) {
    SmallVector<StringRef> extents = parameter.extents();
    return extents.size() > 1 && llvm::is_contained(extents, "model");
  };
  auto store = [&](TileBuilder &t, ArrayRef<StringRef> over, const Parameter &parameter) {
    t.foreach (over, [&](Scalar &s, ValueRange at) {
      Value sum = readElement(s, parameter.gradientSums, at);
      writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), sum), parameter.gradient, at);
    });
  };
  const std::string name = (function.getName() + "_parameter_gradients").str();
  std::optional<TileBuilder> rest;
  for (auto &[argument, parameter] : context->parameters) {
    if (!parameter.gradientSums)
      continue;
    SmallVector<StringRef> extents = parameter.extents();
    if (isLarge(parameter)) {
      TileBuilder t =
          beginStage(context->plan, name + "_" + parameter.name, Phase::Finish, extents.front());
      store(t, ArrayRef(extents).drop_front(), parameter);
      continue;
    }
    if (!rest)
      rest.emplace(beginStage(context->plan, name, Phase::Finish, {}));
    store(*rest, extents, parameter);
  }
}

/// The bias and the rotation of the only attention, in place of running it.
LogicalResult FunctionLowering::materialize() {
  auto all = function.getOps<AttentionOp>();
  if (!llvm::hasSingleElement(all))
    return function.emitError("expected one attention to materialize its bias, found ")
           << std::distance(all.begin(), all.end());
  AttentionOp op = *all.begin();
  Attention a;
  a.name = function.getName().str();
  a.normalizer = &tile::Normalizer::of(op.getNormalizer());
  a.pairs = allPairs(context->plan);
  FailureOr<SmallVector<TermOp>> terms = termsOf(op);
  if (failed(terms) || failed(checkRotation(op)))
    return failure();
  AttentionTerms lowered(*context, *terms, a, DifferenceRange::kUnboundedMin, sharedTerms);
  a.terms = &lowered;
  if (failed(lowered.prepare()))
    return failure();
  emitBias(*context, a);
  Value rotation = op.getRotation();
  return rotation ? emitRotationTables(*context,
                                       cast<RotationOpInterface>(rotation.getDefiningOp()), a.name)
                  : success();
}

LogicalResult FunctionLowering::run() {
  if (failed(createPlan()) || failed(createArguments()) || failed(createGradients()))
    return failure();
  createBounds();
  if (options.materialize)
    return materialize();
  for (auto attention : function.getOps<AttentionOp>())
    if (failed(lower(attention)))
      return failure();
  for (auto embed : function.getOps<EmbedOp>())
    if (failed(lower(embed)))
      return failure();
  for (auto merge : function.getOps<MergeOp>())
    lower(merge);
  for (auto &lowered : attentions)
    emitForward(*lowered);
  for (LoweredEmbed &embed : embeds)
    embed.embedding->emitForward(embed.x, embed.y, embed.dropout.get(),
                                 *returned(embed.op.getOutput()));
  for (auto &merge : merges)
    merge->emitForward();
  if (options.grad) {
    emitEmbedBackward();
    for (auto &merge : merges)
      merge->emitBackward();
    for (auto &lowered : llvm::reverse(attentions))
      emitBackward(*lowered);
    storeParameterGradients();
  }
  return success();
}

struct PEToTilePass : impl::PEToTilePassBase<PEToTilePass> {
  using Base::Base;
  void runOnOperation() override {
    PEToTilePassOptions options{entry, headDim, valueDim, dtype, grad, earlyExit, materialize};
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && (entry.empty() || function.getName() == entry))
        functions.push_back(function);
    if (functions.size() != 1) {
      getOperation().emitError("expected one entry function, found ") << functions.size();
      return signalPassFailure();
    }
    if (failed(FunctionLowering(functions.front(), options).run()))
      return signalPassFailure();
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      function.erase();
  }
};

} // namespace
} // namespace mlir::pe
