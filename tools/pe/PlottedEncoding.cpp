//===- PlottedEncoding.cpp - An encoding with values for its parameters ---===//
#include "runtime/api/Inputs.h"
#include "runtime/core/Safetensors.h"
#include "runtime/train/api/FedData.h"
#include "runtime/train/trainer/Checkpoint.h"
#include "tools/pe/Plot.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <sstream>

namespace pe::cli {
namespace {

/// Returns true for q, k and v, the operands of attention.
bool isOperand(const ValueInfo &argument) {
  return argument.dims.size() == 4 && argument.axes.empty() && argument.parameter.init.empty();
}

/// Returns true for the tokens to which an embedding is added.
bool isTokens(const ValueInfo &argument) {
  return argument.sizes == std::vector<std::string>{"b", "r", "model"} &&
         argument.parameter.init.empty();
}

/// Returns the number of layers of a checkpoint, up to the last one with parameters of an encoding;
/// 0 for other files.
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

/// Computes softmax of the scores <q_i, k_j> / sqrt(D) over the allowed keys, [1, H, length,
/// length].
Tensor plainWeights(const Tensor &q, const Tensor &k, const Tensor &allowed) {
  const int64_t heads = q.dim(1), group = heads / k.dim(1), length = q.dim(2), depth = q.dim(3);
  Tensor weights = Tensor::zeros(DType::F64, {1, heads, length, length});
  for (int64_t row = 0; row < heads * length; ++row) {
    const int64_t head = row / length, query = row % length;
    const float *a = q.data<float>() + row * depth;
    double *out = weights.data<double>() + row * length, sum = 0;
    for (int64_t key = 0; key < length; ++key)
      if (allowed.data<double>()[query * length + key] != 0) {
        const float *b = k.data<float>() + (head / group * length + key) * depth;
        sum += out[key] = std::exp(std::inner_product(a, a + depth, b, 0.0) /
                                   std::sqrt(static_cast<double>(depth)));
      }
    for (int64_t key = 0; key < length && sum > 0; ++key)
      out[key] /= sum;
  }
  return weights;
}

} // namespace

BiasShape biasShapeOf(const std::string &structure) {
  BiasShape shape = BiasShape::None;
  std::stringstream words(structure);
  for (std::string word; words >> word;) {
    const bool ofDistance = word == "affine" || word == "distance" || word == "segments";
    const bool ofRowColumn = word == "row" || word == "column" || word == "row_column";
    if (!ofDistance && !ofRowColumn && word != "general")
      continue;
    const BiasShape own = ofDistance    ? BiasShape::Distance
                          : ofRowColumn ? BiasShape::RowColumn
                                        : BiasShape::General;
    shape = shape == BiasShape::None || shape == own ? own : BiasShape::General;
  }
  return shape;
}

Error PlottedEncoding::lacks(const std::string &what) const {
  return makeError("expected a function with ", what, ", found none in @",
                   program->description->entry.name)
      .at(program->description->entry.location);
}

/// Reads the tensors of --in that are arguments, by name or from one layer of a checkpoint.
Status PlottedEncoding::readParameters() {
  const std::vector<ValueInfo> &arguments = program->description->entry.arguments;
  if (std::any_of(arguments.begin(), arguments.end(), [&](const ValueInfo &argument) {
        return !isOperand(argument) && !isTokens(argument) &&
               !axisPositions.contains(argument.name);
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

/// Determines the number of heads, from the parameters or from --shape, and the heads to draw.
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
  auto parsed = reference::parseProgram(result.program->description->program);
  if (!parsed)
    return parsed.takeError();
  result.findAxisPositions(*parsed);
  if (Status read = result.readParameters(); !read)
    return read.takeError();
  if (Status found = result.findHeads(); !found)
    return found.takeError();
  cpu::ThreadPool::Options threads;
  threads.threads = options.threads;
  result.pool = std::make_shared<cpu::ThreadPool>(threads);
  result.embeds = std::any_of(parsed->operations.begin(), parsed->operations.end(),
                              [](const auto &operation) { return operation.name == "pe.embed"; });
  if (result.embeds) {
    if (options.shape.find("dm=") == std::string::npos)
      result.sizes["dm"] = kEmbeddingWidth;
    return result;
  }
  if (Status probed = result.probe(); !probed)
    return probed.takeError();
  return result;
}

/// Determines the properties of the encoding with a short call.
Status PlottedEncoding::probe() {
  constexpr int64_t kLength = 9, kQuery = 4;
  auto call = read(0, kLength, kLength);
  if (!call)
    return call.takeError();
  const double *allowed = call->expected.allowed.data<double>() + kQuery * kLength;
  looksAhead = std::count(allowed + kQuery + 1, allowed + kLength, 1.0) == kLength - kQuery - 1;
  std::string structure = call->structure;
  if (program->packaged)
    if (auto plan = program->packaged->find(CompileOptions()))
      structure = (*plan)->structure;
  shape = biasShapeOf(structure);
  if (shape == BiasShape::None && call->expected.hasBias)
    shape = BiasShape::General;
  return Status::success();
}

/// Returns the arguments of a call with queries from position `first` on: those of --in, data as in
/// training, and others drawn with the seed.
Expected<TensorMap> PlottedEncoding::argumentsFor(int64_t first, int64_t queries, int64_t keys,
                                                  int64_t valueDim) const {
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
    if (found == given.end() || isOperand(argument)) {
      const auto fed = train::findFedData(argument);
      if ((!fed || *fed == train::FedData::Projected) && !axisPositions.contains(argument.name))
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
  if (Status fed = feedData(first, queries, keys, arguments); !fed)
    return fed.takeError();
  return argumentsOf(arguments, entry);
}

Expected<MaterializedCall> PlottedEncoding::read(int64_t first, int64_t queries,
                                                 int64_t keys) const {
  auto arguments = argumentsFor(first, queries, keys, 8);
  if (!arguments)
    return arguments.takeError();
  CompileOptions options;
  options.headDim = headDim();
  options.valueDim = 8;
  if (program->packaged)
    options.target = nameOf(plan::Target::Reference); // a package is compiled for one value dim
  Positions positions;
  positions.queryStart = first;
  auto call = materializeCall(*program, options, *arguments, positions, *pool);
  if (!call)
    return call.takeError();
  if (Status good = checkMaterialized(*call); !good)
    return good.takeError();
  return call;
}

/// Embeds tokens of zeros, so that the result is the embedding.
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
    options.target = nameOf(plan::Target::Reference);
  auto both = runBoth(options, *arguments, positions, "embedding");
  if (!both)
    return both.takeError();
  const std::string &output = entry.results.front().name;
  auto ofTokens = [&](const Tensor &tensor) { return tensor.reshape({length, call["dm"]}); };
  return Embedded{ofTokens(both->first[output]), ofTokens(both->second[output]),
                  !program->packaged};
}

/// Runs the compiled function and the reference. Returns the results of both or, if they differ, an
/// error in which `what` names the results.
Expected<std::pair<TensorMap, TensorMap>> PlottedEncoding::runBoth(const CompileOptions &options,
                                                                   const TensorMap &arguments,
                                                                   const Positions &positions,
                                                                   const std::string &what) const {
  auto function = api::compileProgram(*program, options);
  if (!function)
    return function.takeError();
  auto run = (*function)->runner->forward(arguments, positions, *pool);
  if (!run)
    return run.takeError();
  auto parsed = reference::parseProgram(program->description->program);
  if (!parsed)
    return parsed.takeError();
  auto expected = reference::evaluate(*parsed, arguments, positions, /*grad=*/false);
  if (!expected)
    return expected.takeError();
  TensorMap found = (*run)->results();
  auto report = reference::compare(*expected, found);
  if (!report)
    return report.takeError();
  if (!report->passes())
    return makeError("results differ from the float64 reference beyond the stated tolerance (",
                     what, ")\n", report->table());
  return std::pair(std::move(found), std::move(expected->outputs));
}

/// Subtracts the results for zeros as values from the results for unit vectors.
Status PlottedEncoding::removeConstant(const CompileOptions &options, TensorMap arguments,
                                       Tensor &found, Tensor &expected) const {
  const EntryInfo &entry = program->description->entry;
  const bool hasConstant = std::ranges::any_of(entry.arguments, [](const ValueInfo &argument) {
    return !isOperand(argument) && !argument.sizes.empty() && argument.sizes.back() == "e";
  });
  if (!hasConstant)
    return Status::success();
  for (const ValueInfo &argument : entry.arguments)
    if (isOperand(argument) && argument.sizes.back() == "e")
      arguments[argument.name] = Tensor::zeros(DType::F32, arguments[argument.name].shape());
  auto both = runBoth(options, arguments, {}, "weights");
  if (!both)
    return both.takeError();
  const std::string &output = entry.results.front().name;
  const Tensor &rest = both->first[output], &expectedRest = both->second[output];
  found = found.clone();
  for (int64_t n = 0; n < found.numel(); ++n) {
    found.data<float>()[n] -= rest.data<float>()[n];
    expected.data<double>()[n] -= expectedRest.data<double>()[n];
  }
  return Status::success();
}

Expected<PlottedEncoding::Weights> PlottedEncoding::weights(int64_t length, Scores scores) const {
  if (length < 1 || length > kLongestWeights)
    return makeError("--length: expected 1 to ", kLongestWeights, " for kind weights, found ",
                     length);
  const EntryInfo &entry = program->description->entry;
  const int64_t depth = (length + 7) / 8 * 8;
  auto arguments = argumentsFor(0, length, length, depth);
  if (!arguments)
    return arguments.takeError();
  std::vector<const Tensor *> operands; // q, k
  for (const ValueInfo &argument : entry.arguments) {
    if (!isOperand(argument))
      continue;
    Tensor &tensor = (*arguments)[argument.name];
    if (argument.sizes.back() != "e") {
      operands.push_back(&tensor);
      if (scores == Scores::Equal)
        std::fill_n(tensor.data<float>(), tensor.numel(), 0.0F);
      continue;
    }
    // Values are unit vectors: row i of the output is the weights of query i.
    for (int64_t n = 0; n < tensor.numel(); ++n)
      tensor.data<float>()[n] = n % depth == n / depth % length ? 1.0F : 0.0F;
  }
  CompileOptions options;
  options.headDim = headDim();
  options.valueDim = depth;
  options.earlyExit = false;
  if (program->packaged)
    options.target = nameOf(plan::Target::Reference); // a package is compiled for one value dim
  auto parsed = reference::parseProgram(program->description->program);
  if (!parsed)
    return parsed.takeError();
  auto masks = reference::materialize(*parsed, *arguments, {});
  if (!masks)
    return masks.takeError();
  auto both = runBoth(options, *arguments, {}, "weights");
  if (!both)
    return both.takeError();
  auto &[found, expected] = *both;
  auto cut = [&](const Tensor &tensor) { return tensor.slice(3, 0, length).clone(); };
  const std::string &output = entry.results.front().name;
  // Remove terms that are added to the values of the keys (value_content); they are not weights.
  if (Status removed = removeConstant(options, *arguments, found[output], expected[output]);
      !removed)
    return removed.takeError();
  Weights weights{cut(found[output]), cut(expected[output]), masks->allowed, {}, {}, {}};
  if (operands.size() == 2)
    weights.plain = plainWeights(*operands[0], *operands[1], masks->allowed);
  for (const ValueInfo &result : entry.results)
    if (result.dims.size() == 3) {
      weights.rows[result.name] = found[result.name];
      weights.expectedRows[result.name] = expected[result.name];
    }
  return weights;
}

Expected<Tensor> PlottedEncoding::scores(const std::vector<int64_t> &queries,
                                         const std::vector<double> &scores) const {
  auto parsed = reference::parseProgram(program->description->program);
  if (!parsed)
    return parsed.takeError();
  const auto count = static_cast<int64_t>(scores.size());
  Tensor all =
      Tensor::empty(DType::F64, {headCount(), static_cast<int64_t>(queries.size()), count});
  for (size_t n = 0; n < queries.size(); ++n) {
    auto arguments = argumentsFor(queries[n], 1, queries[n] + 1, 8);
    if (!arguments)
      return arguments.takeError();
    Positions positions;
    positions.queryStart = queries[n];
    auto values = reference::materializeScores(*parsed, *arguments, positions, scores);
    if (!values || !values->isDefined())
      return values;
    for (int64_t head = 0; head < headCount(); ++head)
      std::copy_n(values->data<double>() + head * count, count,
                  all.data<double>() + (head * all.dim(1) + static_cast<int64_t>(n)) * count);
  }
  return all;
}

} // namespace pe::cli
