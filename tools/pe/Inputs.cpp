//===- Inputs.cpp - The tensors of a call ---===//
#include "tools/pe/Inputs.h"

#include "runtime/api/Inputs.h"
#include "runtime/core/Safetensors.h"
#include "runtime/device/common/BoundEntries.h"

#include <charconv>
#include <set>
#include <sstream>

namespace pe::cli {

/// Returns the name in the contract of a size expression of the compiler ("hq" is h, "r" is sq
/// ...).
static std::string nameOfExtent(const std::string &extent) {
  static const std::map<std::string, std::string> names = {
      {"b", "b"},  {"hq", "h"}, {"hkv", "hkv"}, {"r", "sq"},
      {"c", "sk"}, {"d", "d"},  {"e", "dv"},    {"model", "dm"}};
  if (auto found = names.find(extent); found != names.end())
    return found->second;
  const auto size = plan::SizeExpression::parse(extent); // a user-defined axis
  return size && size->asName() ? extent : "";
}

/// Returns the sizes that --shape accepts: those of every plan and those of the arguments.
static std::vector<std::string> namesOfSizes(const EntryInfo &entry) {
  std::vector<std::string> names = {"b", "h", "hkv", "sq", "sk", "d", "dv"};
  for (const ValueInfo &argument : entry.arguments)
    for (const std::string &extent : argument.sizes)
      if (std::string name = nameOfExtent(extent);
          !name.empty() && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  return names;
}

Expected<Sizes> parseShape(const std::string &text, const EntryInfo &entry) {
  Sizes sizes = {{"b", 1}, {"h", 8}, {"sq", 1024}, {"d", 64}, {"dm", 512}};
  const std::vector<std::string> known = namesOfSizes(entry);
  std::set<std::string> given;
  std::stringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ',')) {
    size_t equal = part.find('=');
    std::string name = part.substr(0, equal);
    if (equal == std::string::npos || std::find(known.begin(), known.end(), name) == known.end()) {
      std::string names = known.front();
      for (size_t n = 1; n < known.size(); ++n)
        names += (n + 1 < known.size() ? ", " : " or ") + known[n];
      return makeError("--shape: expected NAME=NUMBER with ", names, ", found '", part, "'");
    }
    int64_t value = 0;
    const char *begin = part.data() + equal + 1, *end = part.data() + part.size();
    auto [rest, code] = std::from_chars(begin, end, value);
    if (code != std::errc() || rest != end || value < 0)
      return makeError("--shape: expected an integer >= 0 for ", name, ", found '",
                       part.substr(equal + 1), "'");
    if (!given.insert(name).second)
      return makeError("--shape: ", name, " is given twice");
    sizes[name] = value;
  }
  sizes.try_emplace("hkv", sizes["h"]);
  sizes.try_emplace("sk", sizes["sq"]);
  sizes.try_emplace("dv", sizes["d"]);
  if (sizes["hkv"] == 0 || sizes["h"] % sizes["hkv"] != 0)
    return makeError("--shape: expected h to be a multiple of hkv, found h=", sizes["h"],
                     " and hkv=", sizes["hkv"]);
  return sizes;
}

Expected<plan::SizeValues> sizeValuesOf(const EntryInfo &entry, const Sizes &sizes,
                                        const Positions &positions) {
  const auto at = [&](const char *name) { return sizes.at(name); };
  const plan::CallSizes call = {at("b"), at("h"), at("hkv"), at("sq"), at("sk")};
  plan::SizeValues values = call.values(at("d"), at("dv"));
  if (sizes.count("dm"))
    values["model"] = at("dm");
  for (const auto &[name, value] : sizes)
    if (values.count(name) == 0 && nameOfExtent(name) == name)
      values[name] = value;
  values["k_start"] = positions.keyStart;
  values["q_start"] = positions.queryStart.value_or(positions.keyStart + at("sk") - at("sq"));
  for (const ValueInfo &argument : entry.arguments)
    for (size_t axis = 0; axis < argument.sizes.size(); ++axis) {
      const std::string name = nameOfExtent(argument.sizes[axis]);
      const bool isRequired = std::ranges::any_of(
          entry.requirements, [&](const auto &requirement) { return requirement.size == name; });
      if (!name.empty() && name == argument.sizes[axis] && values.count(name) == 0 && !isRequired)
        return makeError("--shape: expected ", name, "=NUMBER, the size of an axis of '",
                         argument.name, "', found none");
    }
  return values;
}

Expected<TensorMap> randomInputs(const EntryInfo &entry, const Sizes &sizes, uint64_t seed,
                                 const Positions &positions) {
  auto known = sizeValuesOf(entry, sizes, positions);
  if (!known)
    return known.takeError();
  const plan::SizeValues &values = *known;
  auto inputs = api::randomArguments(entry, seed, values);
  if (!inputs)
    return inputs;
  auto cotangents = api::randomCotangents(entry, seed, values);
  if (!cotangents)
    return cotangents;
  inputs->merge(*cotangents);
  return inputs;
}

/// "[?, ?, 64]"
static std::string describeDims(const ValueInfo &value) {
  std::string text = "[";
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    std::string name = nameOfExtent(value.sizes[axis]);
    text += (axis ? ", " : "") + (value.dims[axis] >= 0 ? std::to_string(value.dims[axis])
                                  : name.empty()        ? "?"
                                                        : name);
  }
  return text + "]";
}

static Status checkTensor(const ValueInfo &value, const std::string &name, const Tensor &tensor) {
  const bool typed = isFloating(value.dtype)
                         ? isFloating(tensor.dtype()) && tensor.dtype() != DType::F64
                         : tensor.dtype() == value.dtype;
  if (!typed)
    return makeError("tensor '", name, "': expected element type ",
                     isFloating(value.dtype) ? "f32, bf16 or f16" : nameOf(value.dtype), ", found ",
                     nameOf(tensor.dtype()))
        .at(value.location);
  bool fits = tensor.shape().size() == value.dims.size();
  for (size_t axis = 0; fits && axis < value.dims.size(); ++axis)
    fits = value.dims[axis] < 0 || value.dims[axis] == tensor.dim(axis);
  if (!fits)
    return makeError("tensor '", name, "': expected shape ", describeDims(value), ", found ",
                     toString(tensor.shape()))
        .at(value.location);
  return Status::success();
}

bool isLengths(const EntryInfo &entry, const std::string &name) {
  return name == device::kLengths &&
         std::ranges::none_of(entry.arguments,
                              [&](const ValueInfo &argument) { return argument.name == name; });
}

Expected<Tensor> parseLengths(const std::string &text) {
  std::vector<int32_t> lengths;
  std::stringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ',')) {
    int32_t length = 0;
    const char *end = part.data() + part.size();
    auto [rest, code] = std::from_chars(part.data(), end, length);
    if (code != std::errc() || rest != end)
      return makeError("--kv-len: expected integers such as 5,9,12, found '", part, "'");
    lengths.push_back(length);
  }
  return Tensor::of(lengths, {static_cast<int64_t>(lengths.size())});
}

Expected<TensorMap> readInputs(const std::string &path, const EntryInfo &entry) {
  auto file = readSafetensors(path);
  if (!file)
    return file.error();
  std::map<std::string, const ValueInfo *> known;
  for (const ValueInfo &argument : entry.arguments)
    known[argument.name] = &argument;
  for (const ValueInfo &result : entry.results)
    known["d_" + result.name] = &result;
  TensorMap inputs;
  for (const NamedTensor &entryTensor : file->tensors) {
    auto found = known.find(entryTensor.name);
    if (isLengths(entry, entryTensor.name)) {
      inputs[entryTensor.name] = entryTensor.tensor;
      continue;
    }
    if (found == known.end()) {
      std::string names;
      for (auto &[name, value] : known)
        names += (names.empty() ? "" : ", ") + name;
      return makeError(path, ": tensor '", entryTensor.name,
                       "' is neither an argument nor a "
                       "cotangent of @",
                       entry.name, "; it takes ", names);
    }
    if (Status fits = checkTensor(*found->second, entryTensor.name, entryTensor.tensor); !fits)
      return fits.error();
    inputs[entryTensor.name] = entryTensor.tensor;
  }
  for (const ValueInfo &argument : entry.arguments)
    if (!inputs.count(argument.name) && !argument.optional)
      return makeError("tensor '", argument.name, "' of shape ", describeDims(argument),
                       " is missing in ", path)
          .at(argument.location);
  return inputs;
}

std::string layoutHint(const Sizes &sizes, const std::string &before) {
  auto at = [&](const char *name) {
    auto found = sizes.find(name);
    return found == sizes.end() ? int64_t(-1) : found->second;
  };
  const int64_t heads = at("h"), queries = at("sq"), keyHeads = at("hkv"), keys = at("sk");
  // A single query is the normal case when generating text.
  const bool isLikely = heads > queries && queries > 1 && (keys < 0 || keyHeads > keys);
  return isLikely ? makeError(before, "q has ", heads, " heads of length ", queries,
                              ": is it [B, S, H, D]? pe takes [B, H, S, D]")
                        .getMessage()
                  : "";
}

Expected<Sizes> sizesOf(const TensorMap &inputs, const EntryInfo &entry) {
  Sizes sizes;
  std::map<std::string, std::string> from;
  for (const ValueInfo &argument : entry.arguments) {
    auto tensor = inputs.find(argument.name);
    for (size_t axis = 0; tensor != inputs.end() && axis < argument.dims.size(); ++axis) {
      std::string name = nameOfExtent(argument.sizes[axis]);
      if (name.empty())
        continue;
      int64_t size = tensor->second.dim(axis);
      auto [known, fresh] = sizes.emplace(name, size);
      if (fresh)
        from[name] = argument.name;
      else if (known->second != size)
        return makeError("tensor '", argument.name, "': expected ", name, " = ", known->second,
                         " on axis ", axis, " as in '", from[name], "', found ", size,
                         layoutHint(sizes, "; "))
            .at(argument.location);
    }
  }
  return sizes;
}

bool isActivation(const EntryInfo &entry, const std::string &name) {
  for (const auto &[values, prefix] : {std::pair{&entry.arguments, ""}, {&entry.results, "d_"}})
    for (const ValueInfo &value : *values) {
      const std::string last = value.sizes.empty() ? "" : value.sizes.back();
      const bool isDepth = last == "d" || last == "e" || last == "model";
      if (name == prefix + value.name) // a depth implies that there is a first size
        return isDepth && isFloating(value.dtype) && value.sizes.front() == "b" &&
               value.parameter.init.empty();
    }
  return false;
}

DType activationsOf(const TensorMap &inputs, const EntryInfo &entry) {
  for (const ValueInfo &argument : entry.arguments)
    if (auto tensor = inputs.find(argument.name); tensor != inputs.end())
      if (argument.parameter.init.empty() && isFloating(argument.dtype))
        return tensor->second.dtype();
  return DType::F32;
}

static Expected<TensorMap> collect(const TensorMap &inputs, const std::vector<ValueInfo> &values,
                                   const std::string &prefix) {
  TensorMap result;
  for (const ValueInfo &value : values) {
    auto tensor = inputs.find(prefix + value.name);
    if (tensor == inputs.end())
      continue;
    auto converted = convert(tensor->second, isFloating(value.dtype) ? DType::F32 : value.dtype);
    if (!converted)
      return converted.error();
    result[prefix + value.name] = converted->contiguous();
  }
  return result;
}

Expected<TensorMap> argumentsOf(const TensorMap &inputs, const EntryInfo &entry) {
  auto arguments = collect(inputs, entry.arguments, "");
  if (auto lengths = inputs.find(device::kLengths);
      arguments && lengths != inputs.end() && isLengths(entry, device::kLengths))
    arguments->insert(*lengths);
  return arguments;
}
Expected<TensorMap> cotangentsOf(const TensorMap &inputs, const EntryInfo &entry) {
  return collect(inputs, entry.results, "d_");
}

} // namespace pe::cli
