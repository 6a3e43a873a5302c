//===- ShapeBinder.cpp - Inference of sizes from tensor shapes ------------===//

#include "runtime/plan/ShapeBinder.h"

namespace pe::plan {

ShapeBinder::ShapeBinder(const FrameLayout &layout)
    : layout(layout), values(layout.getWords().size()), isKnown(values.size()),
      origin(values.size()) {}

void ShapeBinder::set(std::string_view name, int64_t value) {
  const int index = layout.find(name);
  if (index < 0)
    return;
  values[index] = value;
  isKnown[index] = true;
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

/// Formats an expected shape with the values known so far: "[b = 2, hq, r, 64]".
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
    return mismatch(tensor, expected, found, "the rank must be " + std::to_string(expected.size()));
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::optional<int64_t> number = expected[i].asConstant(); number && *number != found[i])
      return mismatch(tensor, expected, found, "");
    if (!expected[i].asName())
      continue;
    const size_t index = expected[i].getSteps()[0].value;
    if (isKnown[index] && values[index] != found[i])
      return mismatch(
          tensor, expected, found,
          origin[index].empty() ? "" : "'" + origin[index] + "' gives " + layout.getNames()[index]);
    if (!isKnown[index])
      origin[index] = tensor;
    isKnown[index] = true;
    values[index] = found[i];
  }
  return Status::success();
}

void ShapeBinder::bindBlocks(const std::string &tensor, const SymbolicShape &expected,
                             const std::vector<int64_t> &found) {
  for (size_t i = 0; i < found.size() && i < expected.size(); ++i)
    if (const auto blocks = expected[i].asBlocks()) {
      const auto [size, block] = *blocks;
      if (isKnown[size] || !isKnown[block])
        continue;
      isKnown[size] = true;
      origin[size] = tensor;
      values[size] = sizeOfBlocks(found[i], values[block]);
    }
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

std::string ShapeBinder::originOf(std::string_view name) const {
  const int index = layout.find(name);
  return index < 0 || origin[index].empty() ? "" : " ('" + origin[index] + "')";
}

Expected<Frame> ShapeBinder::finish(const Scalars &scalars) const {
  Frame frame = values;
  if (Status s = layout.fillSizes(frame, isKnown); !s)
    return s.takeError();
  if (const CallSizes call = layout.sizesOf(frame); !headsAreGrouped(call))
    return makeError("expected the query heads to be a multiple of the key heads, found ",
                     call.queryHeads, " query heads", originOf("hq"), " and ", call.keyHeads,
                     " key heads", originOf("hkv"));
  if (Status s = layout.fillParameters(frame, scalars); !s)
    return s.takeError();
  return frame;
}

} // namespace pe::plan
