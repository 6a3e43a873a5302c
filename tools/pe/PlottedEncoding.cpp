//===- PlottedEncoding.cpp - an encoding with values for its parameters ---===//
#include "runtime/api/Inputs.h"
#include "runtime/core/Safetensors.h"
#include "runtime/train/trainer/Checkpoint.h"
#include "tools/pe/Plot.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>

namespace pe::cli {
namespace {

/// q, k or v: what attention multiplies.
bool isOperand(const ValueInfo &argument) {
  return argument.dims.size() == 4 && argument.axes.empty() && argument.parameter.init.empty();
}

/// What an embedding is added to.
bool isTokens(const ValueInfo &argument) {
  return argument.sizes == std::vector<std::string>{"b", "r", "model"} &&
         argument.parameter.init.empty();
}

/// One more than the highest layer of a checkpoint that has parameters of an encoding; 0 in other
/// files.
int64_t countLayers(const Safetensors &file) {
  constexpr std::string_view prefix = "layer", suffix = ".attention.bias.";
  int64_t count = 0;
  for (const NamedTensor &tensor : file.tensors) {
    if (!tensor.name.starts_with(prefix))
      continue;
    int64_t layer = 0;
    const char *first = tensor.name.data() + prefix.size();
    auto [end, code] = std::from_chars(first, tensor.name.data() + tensor.name.size(), layer);
    if (code == std::errc() && std::string_view(end).starts_with(suffix))
      count = std::max(count, layer + 1);
  }
  return count;
}

constexpr int64_t kLongestWeights = 256;
constexpr int64_t kEmbeddingWidth = 64; // without --shape=dm=

} // namespace

Error PlottedEncoding::lacks(const std::string &what) const {
  return makeError("expected a function with ", what, ", found none in @",
                   program->description->entry.name)
      .at(program->description->entry.location);
}

/// The tensors of --in that are arguments: by their own names, or of one layer of a checkpoint.
Status PlottedEncoding::readParameters() {
  const std::vector<ValueInfo> &arguments = program->description->entry.arguments;
  if (std::any_of(arguments.begin(), arguments.end(), [](const ValueInfo &argument) {
        return !isOperand(argument) && !isTokens(argument);
      }))
    parametersFrom = "parameters drawn with seed " + std::to_string(settings.seed) + "; ";
  if (settings.in.empty())
    return Status::success();
  std::error_code ignored;
  if (std::filesystem::is_directory(settings.in, ignored)) {
    auto model = train::modelFileOf(settings.in);
    if (!model)
      return model.error();
    settings.in = *std::move(model);
  }
  auto file = readSafetensors(settings.in);
  if (!file)
    return file.error();
  const int64_t layers = countLayers(*file);
  const bool isCheckpoint = layers > 0;
  if (isCheckpoint && settings.layer >= layers)
    return makeError("--layer: the checkpoint has layers 0 to ", layers - 1, ", found ",
                     settings.layer);
  const std::string layer = "layer" + std::to_string(settings.layer) + ".attention.bias.";
  const EntryInfo &entry = program->description->entry;
  for (const ValueInfo &argument : entry.arguments) {
    const std::string wanted = (isCheckpoint ? layer : "") + argument.name;
    for (const NamedTensor &tensor : file->tensors)
      if (tensor.name == wanted) {
        auto converted =
            convert(tensor.tensor, isFloating(argument.dtype) ? DType::F32 : argument.dtype);
        if (!converted)
          return converted.takeError().within("tensor '" + wanted + "'");
        given[argument.name] = converted->contiguous();
      }
    if (!given.count(argument.name) && !argument.parameter.init.empty())
      return makeError("tensor '", argument.name, "' is missing in ", settings.in)
          .at(argument.location);
  }
  parametersFrom = "parameters of " + std::filesystem::path(settings.in).filename().string() +
                   (isCheckpoint ? ", layer " + std::to_string(settings.layer) : "") + "; ";
  return Status::success();
}

/// The number of heads: that of the parameters given, else of --shape. Which of them are drawn.
Status PlottedEncoding::findHeads() {
  for (const ValueInfo &argument : program->description->entry.arguments)
    if (auto tensor = given.find(argument.name); tensor != given.end())
      for (size_t axis = 0; axis < argument.sizes.size(); ++axis)
        if (argument.sizes[axis] == "hq" && axis < static_cast<size_t>(tensor->second.rank()))
          sizes["h"] = tensor->second.dim(static_cast<int64_t>(axis));
  if (sizes["h"] < 1 || sizes["h"] > 1024)
    return makeError("expected 1 to 1024 heads, found ", sizes["h"]);
  if (sizes["h"] % sizes["hkv"])
    sizes["hkv"] = sizes["h"];
  for (int64_t head : settings.heads)
    if (head < 0 || head >= sizes["h"])
      return makeError("--heads: expected heads of 0 to ", sizes["h"] - 1, ", found ", head);
  shown = settings.heads;
  if (shown.empty()) {
    shown.resize(std::min<int64_t>(sizes["h"], 8));
    std::iota(shown.begin(), shown.end(), 0);
  }
  return Status::success();
}

Expected<PlottedEncoding> PlottedEncoding::load(const PlotOptions &options) {
  PlottedEncoding result;
  result.settings = options;
  result.title = std::filesystem::path(options.file).stem().string();
  auto loaded = api::loadProgram(options.file, options.entry);
  if (!loaded)
    return loaded.takeError();
  result.program = *loaded;
  auto sizes = parseShape(options.shape, (*loaded)->description->entry);
  if (!sizes)
    return sizes.takeError();
  result.sizes = *sizes;
  if (Status read = result.readParameters(); !read)
    return read.takeError();
  if (Status found = result.findHeads(); !found)
    return found.takeError();
  cpu::ThreadPool::Options threads;
  threads.threads = options.threads;
  result.pool = std::make_shared<cpu::ThreadPool>(threads);
  auto parsed = reference::parseProgram(result.program->description->program);
  if (!parsed)
    return parsed.takeError();
  result.embeds = std::any_of(parsed->operations.begin(), parsed->operations.end(),
                              [](const auto &operation) { return operation.name == "pe.embed"; });
  if (result.embeds) {
    if (options.shape.find("dm=") == std::string::npos)
      result.sizes["dm"] = kEmbeddingWidth;
    return result;
  }
  // A short call tells what there is to see.
  auto probe = result.read(4, 1, 9);
  if (!probe)
    return probe.takeError();
  const double *allowed = probe->expected.allowed.data<double>();
  result.looksAhead = std::count(allowed + 5, allowed + 9, 1.0) == 4;
  result.biased = probe->expected.hasBias;
  return result;
}

/// Arguments of one call: those given, others drawn with the seed.
Expected<TensorMap> PlottedEncoding::argumentsFor(int64_t queries, int64_t keys, int64_t valueDim,
                                                  bool withData) const {
  const EntryInfo &entry = program->description->entry;
  Sizes call = sizes;
  call["b"] = 1;
  call["sq"] = queries;
  call["sk"] = keys;
  call["dv"] = valueDim;
  auto known = sizeValuesOf(entry, call);
  if (!known)
    return known.takeError();
  const plan::SizeValues &values = *known;
  TensorMap arguments;
  EntryInfo drawn = entry;
  drawn.arguments.clear();
  for (const ValueInfo &argument : entry.arguments) {
    auto found = given.find(argument.name);
    if (found == given.end() || (isOperand(argument) && !withData)) {
      drawn.arguments.push_back(argument);
      continue;
    }
    auto shape = api::shapeOf(argument, values);
    if (!shape)
      return shape.takeError();
    if (found->second.shape() != *shape)
      return makeError("tensor '", argument.name, "': expected shape ", toString(*shape),
                       ", found ", toString(found->second.shape()))
          .at(argument.location);
    arguments[argument.name] = found->second;
  }
  auto random = api::randomArguments(drawn, settings.seed, values);
  if (!random)
    return random.takeError();
  arguments.merge(*random);
  return argumentsOf(arguments, entry);
}

Expected<MaterializedCall> PlottedEncoding::read(int64_t first, int64_t queries,
                                                 int64_t keys) const {
  auto arguments = argumentsFor(queries, keys, 8, /*withData=*/false);
  if (!arguments)
    return arguments.takeError();
  CompileOptions options;
  options.headDim = headDim();
  options.valueDim = 8;
  if (program->packaged)
    options.target = "reference"; // a package is compiled for one value dim
  Positions positions;
  positions.queryStart = first;
  auto call = materializeCall(*program, options, *arguments, positions, *pool);
  if (!call)
    return call.takeError();
  if (Status good = checkMaterialized(*call); !good)
    return good.takeError();
  return call;
}

/// Zeros as tokens: what comes back is what is added to them.
Expected<PlottedEncoding::Embedded> PlottedEncoding::embedding(int64_t length) const {
  const EntryInfo &entry = program->description->entry;
  Sizes call = sizes;
  call["b"] = 1;
  call["sq"] = call["sk"] = length;
  Positions positions;
  positions.queryStart = 0;
  auto drawn = randomInputs(entry, call, settings.seed, positions);
  auto arguments = drawn ? argumentsOf(*drawn, entry) : std::move(drawn);
  if (!arguments)
    return arguments.takeError();
  for (const ValueInfo &argument : entry.arguments) {
    if (auto found = given.find(argument.name); found != given.end())
      (*arguments)[argument.name] = found->second;
    if (isTokens(argument))
      (*arguments)[argument.name] = Tensor::zeros(DType::F32, {1, length, call["dm"]});
  }
  CompileOptions options;
  if (program->packaged)
    options.target = "reference";
  auto function = api::compileProgram(*program, options);
  if (!function)
    return function.takeError();
  auto run = (*function)->runner->forward(*arguments, positions, *pool);
  if (!run)
    return run.takeError();
  auto parsed = reference::parseProgram(program->description->program);
  if (!parsed)
    return parsed.takeError();
  auto expected = reference::evaluate(*parsed, *arguments, positions, /*grad=*/false);
  if (!expected)
    return expected.takeError();
  TensorMap found = (*run)->results();
  auto report = reference::compare(*expected, found);
  if (!report)
    return report.takeError();
  if (!report->passes())
    return makeError("the compiled embedding differs from the float64 reference beyond the stated "
                     "tolerance\n",
                     report->table());
  const std::string &output = entry.results.front().name;
  auto ofTokens = [&](const Tensor &tensor) { return tensor.reshape({length, call["dm"]}); };
  return Embedded{ofTokens(found[output]), ofTokens(expected->outputs[output]), !program->packaged};
}

Expected<PlottedEncoding::Weights> PlottedEncoding::weights(int64_t length) const {
  if (length < 1 || length > kLongestWeights)
    return makeError("--length: expected 1 to ", kLongestWeights, " for kind weights, found ",
                     length);
  const EntryInfo &entry = program->description->entry;
  const int64_t depth = (length + 7) / 8 * 8;
  auto arguments = argumentsFor(length, length, depth, /*withData=*/false);
  if (!arguments)
    return arguments.takeError();
  // Values are unit vectors: row i of the output is the weights of query i.
  for (const ValueInfo &argument : entry.arguments)
    if (isOperand(argument) && argument.sizes.back() == "e") {
      Tensor &values = (*arguments)[argument.name];
      for (int64_t h = 0; h < values.dim(1); ++h)
        for (int64_t j = 0; j < length; ++j)
          for (int64_t e = 0; e < depth; ++e)
            values.data<float>()[(h * length + j) * depth + e] = j == e ? 1.0F : 0.0F;
    }
  CompileOptions options;
  options.headDim = headDim();
  options.valueDim = depth;
  options.earlyExit = false;
  if (program->packaged)
    options.target = "reference"; // a package is compiled for one value dim
  auto function = api::compileProgram(*program, options);
  if (!function)
    return function.takeError();
  auto run = (*function)->runner->forward(*arguments, {}, *pool);
  if (!run)
    return run.takeError();
  auto parsed = reference::parseProgram(program->description->program);
  if (!parsed)
    return parsed.takeError();
  auto expected = reference::evaluate(*parsed, *arguments, {}, /*grad=*/false);
  auto masks = reference::materialize(*parsed, *arguments, {});
  if (!expected || !masks)
    return expected ? masks.takeError() : expected.takeError();
  const std::string &output = entry.results.front().name;
  TensorMap found = (*run)->results();
  auto report = reference::compare(*expected, found);
  if (!report)
    return report.takeError();
  if (!report->passes())
    return makeError("the compiled weights differ from the float64 reference beyond the stated "
                     "tolerance\n",
                     report->table());
  auto cut = [&](const Tensor &tensor) { return tensor.slice(3, 0, length).clone(); };
  return Weights{cut(found[output]), cut(expected->outputs[output]), masks->allowed};
}

} // namespace pe::cli
