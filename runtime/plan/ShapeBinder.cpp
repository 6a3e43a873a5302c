//===- ShapeBinder.cpp - Sizes of a call from its tensors -----------------===//

#include "runtime/plan/ShapeBinder.h"

#include <algorithm>

namespace pe::plan {

ShapeBinder::ShapeBinder(std::span<const std::string> names)
    : names(names), values(names.size()), isKnown(names.size()), origin(names.size()) {}

size_t ShapeBinder::indexOf(std::string_view name) const {
  return std::ranges::find(names, name) - names.begin();
}

void ShapeBinder::set(std::string_view name, int64_t value) {
  values[indexOf(name)] = value;
  isKnown[indexOf(name)] = true;
}

const std::string *ShapeBinder::findUnknown(const SizeExpression &expression) const {
  for (const SizeExpression::Step &step : expression.getSteps())
    if (step.kind == SizeExpression::Kind::Name && !isKnown[step.value])
      return &step.name;
  return nullptr;
}

static std::string listOf(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// "[b = 2, hq, r, 64]": what is known of the expected shape.
std::string ShapeBinder::describe(const SymbolicShape &expected) const {
  std::string text = "[";
  for (size_t i = 0; i < expected.size(); ++i) {
    text += (i ? ", " : "") + expected[i].text();
    if (expected[i].asConstant() || findUnknown(expected[i]))
      continue;
    if (Expected<int64_t> value = expected[i].evaluate(values))
      text += " = " + std::to_string(*value);
  }
  return text + "]";
}

Error ShapeBinder::mismatch(const std::string &tensor, const SymbolicShape &expected,
                            const std::vector<int64_t> &found, const std::string &reason) const {
  return makeError("tensor '", tensor, "': expected shape ", describe(expected), ", found ",
                   listOf(found), reason.empty() ? "" : "; ", reason);
}

Status ShapeBinder::bind(const std::string &tensor, const SymbolicShape &expected,
                         const std::vector<int64_t> &found) {
  if (expected.size() != found.size())
    return mismatch(tensor, expected, found,
                    std::to_string(expected.size()) + " dimensions are needed");
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::optional<int64_t> number = expected[i].asConstant(); number && *number != found[i])
      return mismatch(tensor, expected, found, "");
    if (!expected[i].asName())
      continue;
    const size_t index = expected[i].getSteps()[0].value;
    if (isKnown[index] && values[index] != found[i])
      return mismatch(tensor, expected, found,
                      origin[index].empty() ? "" : "'" + origin[index] + "' gives " + names[index]);
    if (!isKnown[index])
      origin[index] = tensor;
    isKnown[index] = true;
    values[index] = found[i];
  }
  return Status::success();
}

Status ShapeBinder::check(const std::string &tensor, const SymbolicShape &expected,
                          const std::vector<int64_t> &found) const {
  if (expected.size() != found.size())
    return mismatch(tensor, expected, found, "");
  for (size_t i = 0; i < found.size(); ++i) {
    if (const std::string *name = findUnknown(expected[i]))
      return makeError("tensor '", tensor, "': size expression '", expected[i].text(),
                       "': no tensor of the call gives '", *name, "'");
    Expected<int64_t> value = expected[i].evaluate(values);
    if (!value)
      return value.takeError().within("tensor '" + tensor + "'");
    if (*value != found[i])
      return mismatch(tensor, expected, found, "");
  }
  return Status::success();
}

Expected<CallSizes> ShapeBinder::finish(const Positions &positions) const {
  const auto get = [&](std::string_view name, int64_t fallback) {
    return isKnown[indexOf(name)] ? values[indexOf(name)] : fallback;
  };
  CallSizes call;
  call.batch = get("b", 1);
  call.queryHeads = get("hq", 1);
  call.keyHeads = get("hkv", call.queryHeads);
  call.queries = get("r", 0);
  call.keys = get("c", call.queries);
  if (!headsAreGrouped(call))
    return makeError("expected the query heads to be a multiple of the key heads, found ",
                     call.queryHeads, " query heads ('", origin[indexOf("hq")], "') and ",
                     call.keyHeads, " key heads ('", origin[indexOf("hkv")], "')");
  if (Status s = place(call, positions); !s)
    return s.takeError();
  return call;
}

} // namespace pe::plan
