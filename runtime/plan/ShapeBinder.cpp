//===- ShapeBinder.cpp - Sizes of a call from its tensors -----------------===//

#include "runtime/plan/ShapeBinder.h"

namespace pe::plan {

ShapeBinder::ShapeBinder(std::optional<int64_t> headDim, std::optional<int64_t> valueDim) {
  sizes[static_cast<size_t>(SizeName::D)] = headDim;
  sizes[static_cast<size_t>(SizeName::E)] = valueDim;
}

static std::string listOf(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// "[b = 2, hq, r, 64]": what is known of the expected shape.
static std::string describe(const std::vector<std::string> &expected, const SizeValues &sizes) {
  std::string text = "[";
  for (size_t i = 0; i < expected.size(); ++i) {
    text += (i ? ", " : "") + (expected[i].empty() ? "?" : expected[i]);
    Expected<SizeExpression> expression = SizeExpression::parse(expected[i]);
    if (!expression || expression->asConstant())
      continue;
    if (Expected<int64_t> value = expression->evaluate(sizes))
      text += " = " + std::to_string(*value);
  }
  return text + "]";
}

Error ShapeBinder::mismatch(const std::string &tensor, const std::vector<std::string> &expected,
                            const std::vector<int64_t> &found, const std::string &reason) const {
  return makeError("tensor '", tensor, "': expected shape ", describe(expected, sizes), ", found ",
                   listOf(found), reason.empty() ? "" : "; ", reason);
}

Status ShapeBinder::bind(const std::string &tensor, const std::vector<std::string> &expected,
                         const std::vector<int64_t> &found) {
  if (expected.size() != found.size())
    return mismatch(tensor, expected, found,
                    std::to_string(expected.size()) + " dimensions are needed");
  for (size_t i = 0; i < found.size(); ++i) {
    if (expected[i].empty())
      continue;
    Expected<SizeExpression> expression = SizeExpression::parse(expected[i]);
    if (!expression)
      return expression.takeError().within("tensor '" + tensor + "'");
    if (std::optional<int64_t> number = expression->asConstant(); number && *number != found[i])
      return mismatch(tensor, expected, found, "");
    const std::optional<SizeName> name = expression->asName();
    if (!name)
      continue;
    std::optional<int64_t> &size = sizes[static_cast<size_t>(*name)];
    std::string &source = origin[static_cast<size_t>(*name)];
    if (size && *size != found[i])
      return mismatch(tensor, expected, found,
                      source.empty() ? "" : "'" + source + "' gives " + expected[i]);
    if (!size)
      source = tensor;
    size = found[i];
  }
  return Status::success();
}

Status ShapeBinder::check(const std::string &tensor, const std::vector<std::string> &expected,
                          const std::vector<int64_t> &found) const {
  if (expected.size() != found.size())
    return mismatch(tensor, expected, found, "");
  for (size_t i = 0; i < found.size(); ++i) {
    if (expected[i].empty())
      continue;
    Expected<SizeExpression> expression = SizeExpression::parse(expected[i]);
    if (!expression)
      return expression.takeError().within("tensor '" + tensor + "'");
    Expected<int64_t> value = expression->evaluate(sizes);
    if (!value)
      return value.takeError().within("tensor '" + tensor + "'");
    if (*value != found[i])
      return mismatch(tensor, expected, found, "");
  }
  return Status::success();
}

Expected<CallSizes> ShapeBinder::finish(const Positions &positions) const {
  const auto get = [&](SizeName name, int64_t fallback) {
    return sizes[static_cast<size_t>(name)].value_or(fallback);
  };
  CallSizes call;
  call.batch = get(SizeName::B, 1);
  call.queryHeads = get(SizeName::Hq, 1);
  call.keyHeads = get(SizeName::Hkv, call.queryHeads);
  call.queries = get(SizeName::R, 0);
  call.keys = get(SizeName::C, call.queries);
  if (!headsAreGrouped(call))
    return makeError("expected the query heads to be a multiple of the key heads, found ",
                     call.queryHeads, " query heads ('", origin[static_cast<size_t>(SizeName::Hq)],
                     "') and ", call.keyHeads, " key heads ('",
                     origin[static_cast<size_t>(SizeName::Hkv)], "')");
  if (Status s = place(call, positions); !s)
    return s.takeError();
  return call;
}

} // namespace pe::plan
