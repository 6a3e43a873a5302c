//===- TrainedEncoding.cpp - An encoding file as training uses it ---------===//
#include "runtime/train/api/TrainedEncoding.h"

#include "runtime/api/Inputs.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/plan/SizeExpression.h"
#include "runtime/train/api/CompiledAttention.h"
#include "runtime/train/api/CompiledEmbedding.h"
#include "runtime/train/blas/Blas.h"

#include <algorithm>
#include <charconv>
#include <mutex>

namespace pe::train {
namespace {

/// Attention without positions, for --encoding=none.
constexpr const char *kPlainAttention = R"(
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %m = pe.causal
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
)";
/// The same without a mask, for the masked objective.
constexpr const char *kPlainBidirectional = R"(
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v : (!t, !t, !t) -> !t
  return %o : !t
}
)";

bool has(const std::vector<ValueInfo> &values, const std::string &name) {
  return std::any_of(values.begin(), values.end(),
                     [&](const ValueInfo &value) { return value.name == name; });
}

/// Returns the attentions of a function: a result o, or o1, o2 ..., with the corresponding q, k and
/// v.
std::vector<HeadSet> setsOf(const EntryInfo &entry) {
  std::vector<HeadSet> sets;
  for (const ValueInfo &result : entry.results) {
    const std::string ending = result.name.substr(std::min<size_t>(1, result.name.size()));
    const std::string q = "q" + ending, k = "k" + ending, v = "v" + ending;
    if (result.name == "o" + ending && has(entry.arguments, q) && has(entry.arguments, k) &&
        has(entry.arguments, v))
      sets.push_back({q, k, v, result.name, "d_" + q, "d_" + k, "d_" + v, "d_" + result.name});
  }
  return sets;
}

Status checkSets(const EntryInfo &entry, const std::vector<HeadSet> &sets) {
  if (!sets.empty())
    return Status::success();
  const std::string where = " in @" + entry.name;
  for (const char *name : {"q", "k", "v"})
    if (!has(entry.arguments, name))
      return makeError("expected the arguments q, k and v to train with, found no '", name, "'",
                       where)
          .at(entry.location);
  return makeError("expected a result o to train with, found none", where).at(entry.location);
}

/// Returns the sizes that the shape of a parameter may refer to.
Expected<plan::SizeValues> parameterSizes(const EntryInfo &entry, const TrainConfig &config,
                                          int64_t sets) {
  const int64_t longest =
      std::max(config.sequence, config.evaluation.lengths.empty()
                                    ? int64_t(1)
                                    : *std::max_element(config.evaluation.lengths.begin(),
                                                        config.evaluation.lengths.end()));
  plan::SizeValues sizes = {{"b", 1},
                            {"r", longest},
                            {"c", longest},
                            {"hq", config.model.heads / sets},
                            {"hkv", config.model.keyHeads / sets},
                            {"d", config.model.headDim()},
                            {"e", config.model.headDim()},
                            {"model", config.model.dim}};
  auto all = api::withRequired(entry, sizes);
  if (!all)
    return all;
  for (const char *data : {"b", "r", "c", "q_start", "k_start"})
    all->erase(data);
  return all;
}

/// The hint for encodings whose data training cannot feed.
constexpr const char *kInPython = "; to train with your own data, use Python: pe.from_mlir(file)";

/// Returns the shape of a parameter. Its axes are constants, or sizes that the model or the
/// requirements of the file determine. The compiler assumes that an open axis without other
/// constraints is heads, so more than one of them means that the tensor is not a parameter.
Expected<Shape> shapeOf(const ValueInfo &argument, const plan::SizeValues &sizes) {
  const auto fail = [&](const std::string &why) {
    return makeError(
               "'", argument.name, "' has ", why,
               ", so it is data that training cannot feed; the axes of a parameter are constants, "
               "heads, depths or the model's width",
               kInPython)
        .at(argument.location);
  };
  Shape shape;
  int64_t unnamedHeads = 0;
  for (size_t axis = 0; axis < argument.dims.size(); ++axis) {
    int64_t size = argument.dims[axis];
    if (size < 0) {
      auto expression = plan::SizeExpression::parse(argument.sizes[axis]);
      auto value =
          expression ? expression->evaluate(sizes) : Expected<int64_t>(expression.takeError());
      if (!value)
        return fail("an axis of size '" + argument.sizes[axis] + "'");
      const bool named = axis < argument.axes.size() && argument.axes[axis] == "head";
      unnamedHeads += argument.sizes[axis] == "hq" && !named;
      size = *value;
    }
    shape.push_back(size);
  }
  if (unnamedHeads > 1)
    return fail(std::to_string(unnamedHeads) + " open axes");
  return shape;
}

Status addData(const ValueInfo &argument, TrainedFunction &function) {
  if (const auto kind = findFedData(argument)) {
    function.data.push_back({argument.name, *kind});
    if (*kind == FedData::Projected)
      function.projected.push_back(projectedInputOf(argument));
    return Status::success();
  }
  return makeError("'", argument.name,
                   "' is data that training cannot feed; besides q, k, v it feeds ",
                   joinChoices(namesOfFedData()),
                   " of their usual types (a parameter is f32 and has a pe.init)", kInPython)
      .at(argument.location);
}

/// Classifies the arguments other than the activations.
Status addArguments(const EntryInfo &entry, const TrainConfig &config, TrainedFunction &function) {
  const int64_t sets = std::max<int64_t>(1, static_cast<int64_t>(function.sets.size()));
  auto sizes = parameterSizes(entry, config, sets);
  if (!sizes)
    return sizes.takeError();
  for (const ValueInfo &argument : entry.arguments) {
    const bool isTensor =
        argument.name == "x" ||
        std::any_of(function.sets.begin(), function.sets.end(), [&](const HeadSet &set) {
          return argument.name == set.q || argument.name == set.k || argument.name == set.v;
        });
    if (isTensor || argument.optional)
      continue;
    if (argument.parameter.init.empty() || argument.dtype != DType::F32) {
      if (Status status = addData(argument, function); !status)
        return status;
      continue;
    }
    auto shape = shapeOf(argument, *sizes);
    if (!shape)
      return shape.takeError();
    const double lowest = -std::numeric_limits<double>::infinity();
    function.parameters.push_back(
        {argument.name, *std::move(shape), argument.parameter.init, argument.parameter.decay,
         static_cast<float>(argument.parameter.min.value_or(lowest)), argument.parameter.monitor});
  }
  return Status::success();
}

Status checkHeads(const std::string &file, const DecoderConfig &model, int64_t sets) {
  if (model.heads % sets || model.keyHeads % sets)
    return makeError("expected --heads and --kv-heads to be multiples of ", sets,
                     ", the attentions in '", file, "', found ", model.heads, " and ",
                     model.keyHeads);
  return Status::success();
}

/// Compiles the described function, and again without dropout if it has a seed.
Status compileFunction(const jit::Source &source, const TrainConfig &config,
                       TrainedFunction &function) {
  jit::CompileRequest request;
  request.headDim = request.valueDim = config.model.headDim();
  request.grad = true;
  request.source = source;
  auto compiled = api::Compiler::instance().compile(request);
  if (!compiled)
    return compiled.takeError();
  function.function = *compiled;
  if (!function.has(FedData::Seed))
    return Status::success();
  request.grad = false;
  request.source.attributes.emplace_back("dropout", "0.0");
  auto evaluation = api::Compiler::instance().compile(request);
  if (!evaluation)
    return evaluation.takeError();
  function.evaluation = *evaluation;
  return Status::success();
}

Expected<std::shared_ptr<const TrainedFunction>> trainedFunction(const jit::Source &source,
                                                                 const TrainConfig &config) {
  auto function = std::make_shared<TrainedFunction>();
  auto description = api::Compiler::instance().describe(source);
  if (!description)
    return description.takeError();
  function->description = *description;
  const EntryInfo &entry = (*description)->entry;
  const bool embeds = has(entry.arguments, "x") && has(entry.results, "y");
  if (!embeds) {
    function->sets = setsOf(entry);
    if (Status status = checkSets(entry, function->sets); !status)
      return status.takeError();
    if (Status status =
            checkHeads(source.name, config.model, static_cast<int64_t>(function->sets.size()));
        !status)
      return status.takeError();
  }
  if (Status status = addArguments(entry, config, *function); !status)
    return status.takeError();
  if (Status status = compileFunction(source, config, *function); !status)
    return status.takeError();
  return std::shared_ptr<const TrainedFunction>(std::move(function));
}

} // namespace

/// Returns the shortest text that reads as the number.
static std::string numberText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

Expected<TrainedEncoding> compileEncoding(const std::string &file, const TrainConfig &config) {
  const bool masked = config.objective == Objective::Masked;
  const jit::Source plain{masked ? kPlainBidirectional : kPlainAttention, "none", "", {}};
  jit::AttributeValues dropout;
  if (config.model.dropout > 0)
    dropout.emplace_back(jit::kAddedDropout, std::to_string(config.model.dropout));
  jit::Source source = plain;
  source.attributes = config.attributes;
  source.attributes.insert(source.attributes.end(), dropout.begin(), dropout.end());
  if (file != "none") {
    auto text = readFile(file);
    if (!text)
      return text.takeError();
    source.name = file;
    source.text = *std::move(text);
    if (config.rotationFactor)
      source.attributes.emplace_back(jit::kRotationFactor, numberText(*config.rotationFactor));
  }
  auto function = trainedFunction(source, config);
  if (!function)
    return function.takeError();
  if (!(*function)->sets.empty())
    return TrainedEncoding{*function, nullptr, source.text};
  jit::Source bare = plain;
  bare.attributes = dropout;
  auto attention = trainedFunction(bare, config);
  if (!attention)
    return attention.takeError();
  return TrainedEncoding{*attention, *function, source.text};
}

AttentionFactory TrainedEncoding::attentionFactory(ParallelFor &parallel) const {
  return [function = attention, &parallel]() {
    return Expected<std::unique_ptr<AttentionFunction>>(makeCompiledAttention(function, parallel));
  };
}

EmbeddingFactory TrainedEncoding::embeddingFactory(ParallelFor &parallel) const {
  if (!embedding)
    return {};
  return [function = embedding, &parallel](int64_t dim) {
    return Expected<std::unique_ptr<EmbeddingFunction>>(
        makeCompiledEmbedding(function, dim, parallel));
  };
}

/// Keeps code until the process ends: kernels are plain functions, whose users do not own them. Any
/// thread may call this. The list is never destroyed, because threads may outlive static objects.
static void keepForever(std::shared_ptr<cpu::LoadedCode> code) {
  static std::mutex mutex;
  static auto &kept = *new std::vector<std::shared_ptr<cpu::LoadedCode>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(code));
}

/// Compiles plain functions that live until the process ends.
static Expected<SymbolLookup> compileForever(const jit::Source &source) {
  auto code = api::Compiler::instance().compileKernels(source);
  if (!code)
    return code.error();
  keepForever(*code);
  return SymbolLookup([code = *code](const std::string &symbol) { return code->lookup(symbol); });
}

Expected<std::string> readActivation(const std::string &activation) {
  if (const std::string *known = activationSource(activation))
    return *known;
  auto text = readFile(activation);
  if (!text)
    return text.takeError().within("--activation");
  return text;
}

static Expected<ActivationKernels> compileActivation(const std::string &activation) {
  auto text = readActivation(activation);
  if (!text)
    return text.takeError();
  auto lookup = compileForever({*std::move(text), activation, ""});
  if (!lookup)
    return lookup.takeError();
  auto kernels = bindActivation(*lookup);
  if (!kernels)
    return kernels.takeError().within("--activation=" + activation);
  return kernels;
}

Expected<Kernels> prepareTraining(const std::string &activation) {
  if (Status loaded = blas::load(); !loaded)
    return loaded.takeError();
  auto lookup = compileForever({kernelSource(), "training kernels", ""});
  if (!lookup)
    return lookup.takeError();
  auto kernels = bindKernels(*lookup);
  if (!kernels)
    return kernels;
  auto bound = compileActivation(activation);
  if (!bound)
    return bound.takeError();
  kernels->activation = *bound;
  return kernels;
}

} // namespace pe::train
