//===- RandomInputs.cpp - Random inputs for a described function ----------===//
//
// Parameters differ per head: a parameter with the same value for all heads would hide a wrong head
// index.
//
//===----------------------------------------------------------------------===//

#include "conformance/RandomInputs.h"

#include "runtime/api/Inputs.h"
#include "runtime/core/Random.h"
#include "runtime/plan/CallSizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pe::conformance {
namespace {

/// Returns the sizes of the call, and the smallest sizes that it requires of other tensors.
Expected<plan::SizeValues> sizesOf(const jit::EntryInfo &entry, const Call &call) {
  const plan::CallSizes callSizes = {call.batch, call.queryHeads, call.keyHeads, call.queries,
                                     call.keys};
  plan::SizeValues sizes = callSizes.values(call.headDim, call.valueDim);
  sizes["model"] = call.headDim;
  sizes["k_start"] = call.positions.keyStart;
  sizes["q_start"] =
      call.positions.queryStart.value_or(call.positions.keyStart + call.keys - call.queries);
  for (const jit::ValueInfo &argument : entry.arguments)
    if (api::findAscending(entry, argument.name))
      sizes[argument.sizes[0]] = 4; // three documents
  auto required = api::withRequired(entry, std::move(sizes));
  if (required)
    for (const jit::ValueInfo &argument : entry.arguments)
      for (const std::string &size : argument.sizes)
        if (std::isalpha(static_cast<unsigned char>(size.front())) || size.front() == '_')
          required->try_emplace(size, 3); // a named axis
  return required;
}

Expected<Shape> shapeOf(const jit::ValueInfo &value, const plan::SizeValues &sizes) {
  Shape shape;
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    if (value.dims[axis] >= 0) {
      shape.push_back(value.dims[axis]);
      continue;
    }
    // A dynamic axis without a name is the head axis of a parameter.
    std::string text = axis < value.sizes.size() ? value.sizes[axis] : "";
    auto expression = plan::SizeExpression::parse(text.empty() ? "hq" : text);
    if (!expression)
      return expression.takeError();
    auto size = expression->evaluate(sizes);
    if (!size)
      return size.takeError();
    shape.push_back(*size);
  }
  return shape;
}

/// A uniform distribution on [a, b), or a normal one with mean a and deviation b.
struct Distribution {
  bool isNormal = false;
  double a = 0.0, b = 1.0;
};

/// Parses the arguments of a call: "uniform(0,2)" with word "uniform" gives {0, 2}. Returns false
/// for another word.
bool readCall(std::string_view text, std::string_view word, std::vector<double> &numbers) {
  if (!text.starts_with(word))
    return false;
  text.remove_prefix(word.size());
  while (!text.empty()) {
    size_t start = text.find_first_not_of("(), ");
    if (start == std::string_view::npos)
      return true;
    text.remove_prefix(start);
    double number = 0.0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc())
      return false;
    numbers.push_back(number);
    text.remove_prefix(end - text.data());
  }
  return true;
}

Expected<Distribution> distributionOf(const jit::ValueInfo &value, const Shape &shape) {
  for (const ParameterRange &range : parameterRanges())
    if (range.name == value.name)
      return Distribution{false, range.low, range.high};
  double inputs = shape.size() > 1 ? static_cast<double>(shape.back()) : 1.0;
  std::vector<double> numbers;
  const std::string &init = value.parameter.init;
  if ((readCall(init, "uniform", numbers) || readCall(init, "integers", numbers)) &&
      numbers.size() == 2)
    return Distribution{false, numbers[0], numbers[1]};
  if (readCall(init, "normal", numbers) && numbers.size() == 1)
    return Distribution{true, 0.0, numbers[0]};
  if (readCall(init, "linear", numbers) || readCall(init, "xavier", numbers)) {
    double range = 1.0 / std::sqrt(init[0] == 'l' && !numbers.empty() ? numbers[0] : inputs);
    return Distribution{false, -range, range};
  }
  if (readCall(init, "slopes", numbers) || init.starts_with("slopes"))
    return Distribution{false, 0.004, 0.5};
  if (readCall(init, "", numbers) && numbers.size() == 1)
    return numbers[0] == 0.0 ? Distribution{false, -0.5, 0.5}
                             : Distribution{false, 0.7 * numbers[0], 1.3 * numbers[0]};
  return makeError("cannot draw parameter '", value.name, "': unknown pe.init '", init, "'");
}

Expected<Tensor> drawParameter(const jit::ValueInfo &value, const Shape &shape, Random &random) {
  auto distribution = distributionOf(value, shape);
  if (!distribution)
    return distribution.takeError();
  Tensor tensor = Tensor::zeros(DType::F32, shape);
  if (distribution->isNormal)
    random.fillNormal(tensor, distribution->a, distribution->b);
  else
    random.fillUniform(tensor, distribution->a, distribution->b);
  if (value.parameter.min)
    for (float &x : tensor.values<float>())
      x = std::max(x, static_cast<float>(*value.parameter.min));
  return tensor;
}

Tensor roundedDown(const Tensor &numbers) {
  Tensor whole = Tensor::zeros(DType::I32, numbers.shape());
  auto values = numbers.values<float>();
  std::transform(values.begin(), values.end(), whole.values<int32_t>().begin(),
                 [](float x) { return static_cast<int32_t>(std::floor(x)); });
  return whole;
}

} // namespace

/// Returns true if the call omits an optional argument. Some of the calls in which every query has
/// a key do so.
static bool isLeftOut(const jit::ValueInfo &argument, const Call &call) {
  const int64_t keyStart = call.positions.keyStart;
  const int64_t first = call.positions.queryStart.value_or(keyStart + call.keys - call.queries);
  const bool hasKeys =
      std::max<int64_t>(first, 0) >= keyStart && first + call.queries <= keyStart + call.keys;
  return argument.optional && hasKeys && call.keys % 2 == 1;
}

Expected<TensorMap> drawInputs(const jit::EntryInfo &entry, const Call &call, uint64_t seed) {
  auto sizes = sizesOf(entry, call);
  if (!sizes)
    return sizes.takeError();
  TensorMap inputs;
  for (const jit::ValueInfo &argument : entry.arguments) {
    if (isLeftOut(argument, call))
      continue;
    auto shape = shapeOf(argument, *sizes);
    if (!shape)
      return shape.takeError();
    if (const ValueRequirement *required = api::findAscending(entry, argument.name)) {
      auto numbers = api::drawRequired(argument, *required, seed, *sizes);
      if (!numbers)
        return numbers.takeError();
      inputs[argument.name] = *std::move(numbers);
      continue;
    }
    if (argument.dtype == DType::I64) {
      Random random(seed, argument.name);
      Tensor seeds = Tensor::zeros(DType::I64, *shape);
      for (int64_t &word : seeds.values<int64_t>())
        word = static_cast<int64_t>(random.next64());
      inputs[argument.name] = seeds;
      continue;
    }
    if (argument.dtype != DType::F32 && argument.dtype != DType::I32)
      return makeError("cannot draw argument '", argument.name, "' of type ",
                       nameOf(argument.dtype));
    Random random(seed, argument.name);
    if (argument.dtype == DType::F32 && argument.parameter.init.empty()) {
      bool isScored = argument.name == "q" || argument.name == "k";
      Tensor tensor = Tensor::zeros(DType::F32, *shape);
      // The largest of many scores is about four deviations.
      random.fillNormal(tensor, 0.0, isScored && call.logits > 1 ? std::sqrt(call.logits / 4) : 1);
      inputs[argument.name] = tensor;
      continue;
    }
    auto tensor = drawParameter(argument, *shape, random);
    if (!tensor)
      return tensor.takeError();
    inputs[argument.name] = argument.dtype == DType::I32 ? roundedDown(*tensor) : *tensor;
  }
  for (const jit::ValueInfo &result : entry.results) {
    auto shape = shapeOf(result, *sizes);
    if (!shape)
      return shape.takeError();
    Tensor tensor = Tensor::zeros(DType::F32, *shape);
    Random(seed, "d_" + result.name).fillNormal(tensor, 0.0, 1.0);
    inputs["d_" + result.name] = tensor;
  }
  return inputs;
}

bool isActivation(const jit::EntryInfo &entry, const std::string &name) {
  for (const auto &[values, prefix] : {std::pair{&entry.arguments, ""}, {&entry.results, "d_"}})
    for (const jit::ValueInfo &value : *values)
      if (prefix + value.name == name) {
        const std::string depth = value.sizes.empty() ? "" : value.sizes.back();
        const size_t rank = depth == "model" ? 3 : 4;
        return (rank == 3 || depth == "d" || depth == "e") && value.sizes.size() == rank;
      }
  return false;
}

} // namespace pe::conformance
