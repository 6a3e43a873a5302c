//===- FunctionInputs.cpp - the plan of a function and its arguments ------===//
#include "passes/ToTile/FunctionInputs.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/Tile/SizeNames.h"
#include "passes/ToTile/DocumentBounds.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::pe;
using namespace mlir::tile;

/// Keys of a split (tile.plan): many enough that merging takes little time, and few enough that
/// some thousand keys of one head keep many threads busy.
static constexpr int64_t kKeysOfSplit = 512;

/// Returns true for queries, keys, values, tokens and results of attentions: not for parameters.
static bool isData(BlockArgument argument) {
  return llvm::any_of(argument.getUses(), [](OpOperand &use) {
    return (isa<AttentionOp>(use.getOwner()) && use.getOperandNumber() < 3) ||
           (isa<MergeOp>(use.getOwner()) && use.getOperandNumber() < 4) ||
           (isa<EmbedOp>(use.getOwner()) && use.getOperandNumber() == 0);
  });
}
/// Returns true for those of them that have a row of numbers per token: not a logarithm per row.
static bool isActivation(BlockArgument argument) {
  return isData(argument) && llvm::none_of(argument.getUses(), [](OpOperand &use) {
           return isa<MergeOp>(use.getOwner()) && use.getOperandNumber() % 2 == 1;
         });
}
/// Returns true for the queries of a content term, whose gradient its kernels write.
static bool isContentQuery(BlockArgument argument) {
  return llvm::any_of(argument.getUses(), [&](OpOperand &use) {
    auto attention = dyn_cast<AttentionOp>(use.getOwner());
    return attention && llvm::is_contained(attention.getContentQueries(), argument);
  });
}
/// Returns the table of pages of keys or values, or null if they are not in pages.
static Value pagesOf(BlockArgument argument) {
  for (OpOperand &use : argument.getUses())
    if (auto attention = dyn_cast<AttentionOp>(use.getOwner());
        attention && (use.getOperandNumber() == 1 || use.getOperandNumber() == 2))
      return attention.getPages();
  return {};
}
/// Returns true for tensors of floating-point numbers.
static bool isFloating(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

FailureOr<std::unique_ptr<Inputs>> Inputs::create(func::FuncOp function,
                                                  const PEToTilePassOptions &options) {
  std::unique_ptr<Inputs> inputs(new Inputs(function, options.grad));
  if (failed(inputs->createPlan(options)))
    return failure();
  inputs->createArguments();
  inputs->createGradients();
  inputs->createBounds();
  return inputs;
}

StringRef Inputs::nameOf(BlockArgument argument) {
  return function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.name").getValue();
}

LogicalResult Inputs::createPlan(const PEToTilePassOptions &options) {
  OpBuilder builder(function);
  activationType = llvm::StringSwitch<Type>(options.dtype)
                       .Case("f32", builder.getF32Type())
                       .Case("bf16", builder.getBF16Type())
                       .Case("f16", builder.getF16Type())
                       .Case("tf32", builder.getF32Type())
                       .Default(Type());
  if (!activationType)
    return function.emitError("expected dtype f32, bf16, f16 or tf32, found ") << options.dtype;
  // Without attention there are no depths to specialise for.
  const bool attends = !function.getOps<AttentionOp>().empty();
  op = PlanOp::create(builder, function.getLoc(), function.getName(), attends ? options.headDim : 0,
                      attends ? options.valueDim : 0,
                      /*key_block=*/IntegerAttr(), /*key_split=*/IntegerAttr(),
                      /*distance_padding=*/0,
                      /*mask_low=*/IntegerAttr(), /*mask_high=*/IntegerAttr(),
                      /*mask_none=*/false, /*unplaced=*/false);
  if (attends && options.fewRows)
    op.setKeySplit(kKeysOfSplit);
  Block &body = op.getBody().emplaceBlock();
  TileBuilder t(function.getLoc(), OpBuilder::atBlockEnd(&body));
  t.widens = options.widen;
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
                  .grad = grad,
                  .earlyExit = options.earlyExit,
                  .ownElements = options.ownElements,
                  .fewRows = attends ? options.fewRows : 0,
                  .headDim = options.headDim,
                  .valueDim = options.valueDim,
                  .operands = options.widen             ? Type(builder.getF32Type())
                              : options.dtype == "tf32" ? Type(builder.getTF32Type())
                                                        : activationType,
                  .parameters = {}});
  return success();
}

/// Declares where a call lies in the whole, if anything depends on that.
void Inputs::declareParameters(TileBuilder &t) {
  if (function.getOps<AttentionOp>().empty()) {
    if (!function.getOps<EmbedOp>().empty())
      t.create<ParameterOp>("q_start", t.getStringAttr("0"));
    return;
  }
  declarePositions(t, function.getLoc());
  if (readsPositions(function))
    return;
  for (auto parameter : op.getOps<ParameterOp>())
    if (parameter.getName() == "q_start")
      parameter.setFallback(StringRef(::pe::plan::kStartWithoutPositions));
  // Dropout counts from the starts of the call; nothing else would notice them.
  if (llvm::all_of(function.getOps<FactorFnOp>(),
                   [](FactorFnOp op) { return op.getDraws().empty(); }))
    op.setUnplaced(true);
}

/// The sizes that only some arguments have.
void Inputs::declareExtents(TileBuilder &t) {
  llvm::StringSet<> known;
  for (const ::pe::plan::FrameWord &word : getFrame(op))
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

void Inputs::createArguments() {
  for (BlockArgument argument : function.getArguments()) {
    SmallVector<std::string> extents = namedExtents(argument);
    SmallVector<StringRef> names(extents.begin(), extents.end());
    Type element = cast<ShapedType>(argument.getType()).getElementType();
    if (isActivation(argument) && isa<FloatType>(element))
      element = activationType;
    Value buffer = isActivation(argument)
                       ? context->strided(nameOf(argument), Role::Argument, names, element)
                       : context->buffer(nameOf(argument), Role::Argument, names, element);
    if (Value table = pagesOf(argument))
      buffer.getDefiningOp<BufferOp>().setPages(nameOf(cast<BlockArgument>(table)));
    for (StringRef attribute : {"pe.init", "pe.min", "pe.decay", "pe.monitor", "pe.absent"})
      if (Attribute value = function.getArgAttr(argument.getArgNumber(), attribute))
        buffer.getDefiningOp()->setAttr(attribute, value);
    buffers[argument] = buffer;
  }
}

void Inputs::createGradients() {
  for (BlockArgument argument : function.getArguments()) {
    const bool data = isData(argument);
    Value buffer = buffers[argument];
    Parameter parameter{nameOf(argument).str(), buffer};
    if (grad && isFloating(argument)) {
      SmallVector<StringRef> extents = parameter.extents();
      gradients[argument] =
          isActivation(argument)
              ? context->strided("d_" + nameOf(argument), Role::Gradient, extents, activationType)
              : context->buffer("d_" + nameOf(argument), Role::Gradient, extents);
      parameter.gradient = gradients[argument];
      if (!data && !isContentQuery(argument))
        parameter.gradientSums = context->temporary("sums_" + nameOf(argument), extents,
                                                    context->plan.getF64Type(), /*zero=*/true);
    }
    if (auto absent = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.absent"))
      for (BlockArgument other : function.getArguments())
        if (nameOf(other) == absent)
          parameter.absent = other;
    if (!data)
      context->parameters[argument] = parameter;
  }
}

/// Adds the buffers with the beginnings and ends of documents, for every query or key.
void Inputs::createBounds() {
  for (auto [number, op] : llvm::enumerate(function.getOps<DocumentBoundsOp>()))
    createDocumentBounds(*context, op, (function.getName() + "_documents" + Twine(number)).str());
}

/// The name of a result of the function.
std::optional<StringRef> Inputs::returned(Value value) {
  for (OpOperand &use : value.getUses())
    if (isa<func::ReturnOp>(use.getOwner()))
      return function.getResultAttrOfType<StringAttr>(use.getOperandNumber(), "pe.name").getValue();
  return std::nullopt;
}

AttentionResults Inputs::results(AttentionOp attention, const std::string &name) {
  AttentionResults results;
  std::optional<StringRef> output = returned(attention.getOutput());
  SmallVector<StringRef> oExtents = {"b", "hq", "r", "e"}, rows = {"b", "hq", "r"};
  results.o = output ? context->strided(*output, Role::Result, oExtents, activationType)
                     : context->kept(name + "_output", oExtents, innerType());
  if (grad)
    results.dO = output
                     ? context->strided("d_" + *output, Role::Cotangent, oExtents, activationType)
                     : context->temporary("d_" + name + "_output", oExtents, innerType(),
                                          /*zero=*/true);
  std::optional<StringRef> statistic;
  if (attention.getLse())
    statistic = returned(attention.getLse());
  if (!statistic)
    return results;
  results.statistic = context->buffer(*statistic, Role::Result, rows);
  if (grad)
    results.dStatistic = context->buffer("d_" + *statistic, Role::Cotangent, rows);
  return results;
}

AttentionResults Inputs::results(MergeOp merge) {
  SmallVector<StringRef> outputs = {"b", "hq", "r", "e"}, rows = {"b", "hq", "r"};
  StringRef o = *returned(merge.getOutput()), l = *returned(merge.getLse()); // pe-check-dataflow
  AttentionResults results;
  results.o = context->strided(o, Role::Result, outputs, activationType);
  results.statistic = context->buffer(l, Role::Result, rows);
  if (grad) {
    results.dO = context->strided("d_" + o.str(), Role::Cotangent, outputs, activationType);
    results.dStatistic = context->buffer("d_" + l.str(), Role::Cotangent, rows);
  }
  return results;
}

/// The float64 sums, rounded once.
void Inputs::storeParameterGradients() {
  bool any = llvm::any_of(context->parameters,
                          [](auto &entry) { return bool(entry.second.gradientSums); });
  if (!any)
    return;
  // A gradient per dimension of tokens is large, so a separate stage divides it.
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

FailureOr<AttentionInputs> AttentionInputs::create(Inputs &inputs, AttentionOp op,
                                                   std::string name) {
  AttentionInputs result{op, std::move(name), 1.0, {}};
  GivenRows &rows = result.rows;
  for (auto [value, slot, gradient] :
       {std::tuple{op.getQuery(), &rows.q, &rows.dQ}, std::tuple{op.getKey(), &rows.k, &rows.dK},
        std::tuple{op.getValue(), &rows.v, &rows.dV}}) {
    *slot = inputs.buffer(value);
    if (!*slot)
      return op.emitError(
          "expected queries, keys and values to be arguments of the entry function, "
          "found the result of another operation");
    *gradient = inputs.gradient(value);
  }
  if (op.getPages() && inputs.plan().grad) // pages-C6
    return op.emitError(
        "expected no gradients of an attention with pages(...), which serves "
        "generation, found a compilation with gradients; train with keys and values "
        "as tensors (pages-C6)");
  result.scale = op.getScaleFor(inputs.plan().headDim);
  return result;
}
