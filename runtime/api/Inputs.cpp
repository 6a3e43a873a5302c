//===- Inputs.cpp - Random arguments of a function ------------------------===//

#include "runtime/api/Inputs.h"

#include "runtime/core/Initializer.h"

#include <algorithm>

namespace pe::api {

using plan::SizeExpression;

Expected<Shape> shapeOf(const ValueInfo &value, const plan::SizeValues &sizes) {
  Shape shape;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    if (value.dims[i] >= 0) {
      shape.push_back(value.dims[i]);
      continue;
    }
    if (value.sizes[i].empty())
      return makeError("tensor '", value.name, "': the size of dimension ", i,
                       " is not known from the other sizes; give the tensors with --in");
    Expected<SizeExpression> expression = SizeExpression::parse(value.sizes[i]);
    Expected<int64_t> size =
        expression ? expression->evaluate(sizes) : Expected<int64_t>(expression.takeError());
    if (!size)
      return size.takeError().within("tensor '" + value.name + "'");
    shape.push_back(*size);
  }
  return shape;
}

/// Draws one tensor from its own stream: by `init`, or from the standard normal distribution if
/// that is empty. Seeds (i64) get random bits.
static Expected<Tensor> drawTensor(const ValueInfo &value, const std::string &streamName,
                                   uint64_t seed, const plan::SizeValues &sizes) {
  const bool isWhole = value.parameter.init.starts_with("integers");
  const bool isSeed = value.dtype == DType::I64;
  if (!isFloating(value.dtype) && !isSeed && (value.dtype != DType::I32 || !isWhole))
    return makeError("tensor '", value.name,
                     "': expected a floating tensor, seeds of type i64, or an i32 tensor with "
                     "pe.init = \"integers(a,b)\", found ",
                     nameOf(value.dtype), "; give the tensors with --in");
  Expected<Shape> shape = shapeOf(value, sizes);
  if (!shape)
    return shape.takeError();
  if (isSeed) {
    Expected<Tensor> seeds = Tensor::allocate(DType::I64, *shape);
    Random random(seed, streamName);
    for (int64_t e = 0; seeds && e < seeds->numel(); ++e)
      seeds->values<int64_t>()[e] = static_cast<int64_t>(random.next64());
    return seeds;
  }
  Expected<Tensor> drawn = Tensor::allocate(DType::F32, *shape);
  if (!drawn)
    return drawn.takeError().within("tensor '" + value.name + "'");
  Random random(seed, streamName);
  const ParameterInfo &parameter = value.parameter;
  if (parameter.init.empty())
    random.fillNormal(*drawn, 0, 1);
  else if (Status s = fillByInit(parameter.init, *shape, drawn->values<float>(), random); !s)
    return s.takeError().within("tensor '" + value.name + "'").at(value.location);
  if (parameter.min)
    for (float &element : drawn->values<float>())
      element = std::max(element, static_cast<float>(*parameter.min));
  if (isFloating(value.dtype))
    return convert(*drawn, value.dtype);
  Expected<Tensor> whole = Tensor::allocate(DType::I32, *shape);
  if (whole)
    std::transform(drawn->values<float>().begin(), drawn->values<float>().end(),
                   whole->values<int32_t>().begin(),
                   [](float number) { return static_cast<int32_t>(number); });
  return whole;
}

/// Returns the requirement on the values of an i32 argument without an initializer, or null: either
/// requirements or `pe.init` say which numbers are valid.
static const ValueRequirement *findRequirement(const EntryInfo &entry, const ValueInfo &argument) {
  for (const ValueRequirement &required : entry.valueRequirements)
    if (required.tensor == argument.name &&
        (required.isAscending || argument.parameter.init.empty()))
      return &required;
  return nullptr;
}

const ValueRequirement *findAscending(const EntryInfo &entry, const std::string &argument) {
  for (const ValueRequirement &required : entry.valueRequirements)
    if (required.isAscending && required.tensor == argument)
      return &required;
  return nullptr;
}

Expected<Tensor> drawRequired(const ValueInfo &value, const ValueRequirement &required,
                              uint64_t seed, const plan::SizeValues &sizes) {
  Expected<Shape> shape = shapeOf(value, sizes);
  if (!shape)
    return shape.takeError();
  int64_t ends[2] = {0, 0};
  for (auto [text, end] : {std::pair(&required.first, &ends[0]), {&required.last, &ends[1]}}) {
    Expected<SizeExpression> expression = SizeExpression::parse(*text);
    Expected<int64_t> found =
        expression ? expression->evaluate(sizes) : Expected<int64_t>(expression.takeError());
    if (!found)
      return found.takeError().within("tensor '" + value.name + "' of values from " +
                                      required.first + " to " + required.last);
    *end = *found;
  }
  Expected<Tensor> numbers = Tensor::allocate(DType::I32, *shape);
  if (!numbers || numbers->numel() == 0)
    return numbers;
  Random random(seed, value.name);
  std::span<int32_t> values = numbers->values<int32_t>();
  for (int32_t &number : values)
    number = static_cast<int32_t>(random.uniform(ends[0], ends[1] + 1));
  if (!required.isAscending)
    return numbers;
  std::sort(values.begin(), values.end());
  values.front() = static_cast<int32_t>(ends[0]);
  values.back() = static_cast<int32_t>(ends[1]);
  return numbers;
}

Expected<plan::SizeValues> withRequired(const EntryInfo &entry, plan::SizeValues sizes) {
  for (const auto &[name, value] :
       {std::pair<const char *, int64_t>{"k_start", 0}, {"q_start", sizes["c"] - sizes["r"]}})
    sizes.try_emplace(name, value);
  for (const Requirement &requirement : entry.requirements) {
    if (sizes.contains(requirement.size))
      continue;
    const auto size = SizeExpression::parse(requirement.size);
    if (!size || !size->asName())
      continue;
    Expected<SizeExpression> least = SizeExpression::parse(requirement.least);
    Expected<int64_t> value = least ? least->evaluate(sizes) : Expected<int64_t>(least.takeError());
    if (!value)
      return value.takeError().within(requirement.what);
    sizes[requirement.size] = *value;
  }
  return sizes;
}

Expected<TensorMap> randomArguments(const EntryInfo &entry, uint64_t seed,
                                    const plan::SizeValues &given) {
  Expected<plan::SizeValues> required = withRequired(entry, given);
  if (!required)
    return required.takeError();
  const plan::SizeValues &sizes = *required;
  TensorMap tensors;
  for (const ValueInfo &argument : entry.arguments) {
    if (argument.optional)
      continue;
    const ValueRequirement *required = findRequirement(entry, argument);
    Expected<Tensor> tensor = required ? drawRequired(argument, *required, seed, sizes)
                                       : drawTensor(argument, argument.name, seed, sizes);
    if (!tensor)
      return tensor.takeError();
    tensors[argument.name] = *std::move(tensor);
  }
  return tensors;
}

Expected<TensorMap> randomCotangents(const EntryInfo &entry, uint64_t seed,
                                     const plan::SizeValues &sizes) {
  TensorMap tensors;
  for (const ValueInfo &result : entry.results) {
    if (!isFloating(result.dtype))
      continue;
    Expected<Tensor> tensor = drawTensor(result, "d_" + result.name, seed, sizes);
    if (!tensor)
      return tensor.takeError();
    tensors["d_" + result.name] = *std::move(tensor);
  }
  return tensors;
}

} // namespace pe::api
