//===- CallSizes.cpp - Inference of sizes from tensors --------------------===//
#include "runtime/reference/CallSizes.h"
#include "runtime/plan/ShapeBinder.h"
#include "runtime/reference/RowNormalizer.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace pe::reference {

std::optional<Shape> dimensionsOf(std::string_view type) {
  constexpr std::string_view prefix = "tensor<";
  if (!type.starts_with(prefix))
    return std::nullopt;
  type.remove_prefix(prefix.size());
  Shape dims;
  while (!type.empty() && (type[0] == '?' || (type[0] >= '0' && type[0] <= '9'))) {
    size_t end = type.find('x');
    if (end == std::string_view::npos)
      return std::nullopt;
    int64_t dim = -1;
    if (type[0] != '?')
      std::from_chars(type.data(), type.data() + end, dim);
    dims.push_back(dim);
    type.remove_prefix(end + 1);
  }
  return dims;
}

/// Returns the size that each dimension of an argument represents, for arguments other than q, k,
/// v.
static std::vector<std::string> sizesOf(const Argument &argument, const Shape &dims,
                                        const std::string &otherwise) {
  static const std::map<std::string, const char *> names = {
      {"batch", "b"}, {"head", "hq"}, {"kv_head", "hkv"},  {"query", "r"},
      {"key", "c"},   {"depth", "d"}, {"value_depth", "e"}};
  std::vector<std::string> sizes;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    // An unknown size without an axis is a count of `otherwise`.
    const std::string word = axis < argument.axes.size() ? argument.axes[axis] : otherwise;
    auto found = names.find(word);
    if (dims[axis] >= 0)
      sizes.push_back(std::to_string(dims[axis]));
    else
      sizes.push_back(found != names.end() ? found->second : word);
  }
  return sizes;
}

static bool isUsed(ValueId value, const std::vector<Operation> &operations) {
  return std::any_of(operations.begin(), operations.end(), [&](const Operation &operation) {
    return std::find(operation.operands.begin(), operation.operands.end(), value) !=
               operation.operands.end() ||
           std::any_of(operation.regions.begin(), operation.regions.end(),
                       [&](const Region &region) { return isUsed(value, region.operations); });
  });
}

/// Returns true if the normalizer of the attention depends on the order of the keys.
static bool ordersKeys(const Operation &attention) {
  auto keyword = attention.keyword("normalizer", kDefaultNormalizer);
  const Normalizer *normalizer = keyword ? Normalizer::find(*keyword) : nullptr;
  return normalizer && normalizer->ordersKeys();
}

bool readsPositions(const Program &program) {
  bool hasAttention = false;
  for (const Operation &operation : program.operations) {
    hasAttention |= operation.name == "pe.attention";
    if (operation.name == "pe.attention" && ordersKeys(operation))
      return true;
    if (operation.name == "pe.attention")
      for (ValueId operand : operation.operands) {
        const std::string &type = program.typeOf(operand);
        if (type.starts_with("!pe.") && type != "!pe.score" && type != "!pe.factor" &&
            type != "!pe.sink")
          return true;
      }
    // The indices of i and j among the arguments (s, b, h, i, j), (b, h, i, j) and (b, h, i).
    static const std::map<std::string_view, std::vector<size_t>> places = {
        {"pe.score_fn", {3, 4}}, {"pe.factor_fn", {2, 3}}, {"pe.sink_fn", {2}}};
    auto found = places.find(operation.name);
    if (found == places.end())
      continue;
    const Region &region = operation.regions.at(0);
    for (size_t place : found->second)
      if (isUsed(region.arguments.at(place), region.operations))
        return true;
  }
  return !hasAttention;
}

/// Returns the standard words of a call, and the sizes that axes of arguments name.
static std::vector<plan::FrameWord> frameOf(const Program &program) {
  std::vector<plan::FrameWord> words = plan::standardFrame();
  for (plan::FrameWord &word : words)
    if (word.name == "q_start" && !readsPositions(program))
      word.fallback = "max(0, k_start + c - r)";
  for (const Argument &argument : program.arguments) {
    auto dims = dimensionsOf(program.typeOf(argument.id));
    if (!dims || argument.axes.size() != dims->size())
      continue;
    for (const std::string &size : sizesOf(argument, *dims, "head")) {
      const auto isSame = [&](const plan::FrameWord &word) { return word.name == size; };
      const auto first = static_cast<unsigned char>(size[0]);
      if ((std::isalpha(first) || first == '_') && // otherwise a number
          std::none_of(words.begin(), words.end(), isSame))
        words.push_back({plan::FrameWord::Kind::Size, size, "1"});
    }
  }
  return words;
}

/// Binds the sizes of a call to the shape of a tensor whose dimensions are `sizes`.
static Status bindTo(const plan::FrameLayout &layout, plan::ShapeBinder &binder,
                     const std::string &tensor, const std::vector<std::string> &sizes,
                     const Shape &shape) {
  plan::SymbolicShape expected;
  for (const std::string &size : sizes) {
    auto expression = plan::SizeExpression::parse(size);
    if (!expression)
      return expression.takeError().within("tensor '" + tensor + "'");
    if (Status status = expression->resolve(layout.getNames()); !status)
      return status;
    expected.push_back(std::move(*expression));
  }
  return binder.bind(tensor, expected, shape);
}

/// Returns true if tensors of these dimensions are positions by axis for the operation.
static bool isOfAxes(const Operation &operation, const std::optional<Shape> &dims) {
  return operation.name == "pe.rotary" && dims && dims->size() == 3;
}

int64_t axesOfPositions(const Program &program, const Argument &argument) {
  const std::optional<Shape> dims = dimensionsOf(program.typeOf(argument.id));
  const bool isUsed = std::ranges::any_of(program.operations, [&](const Operation &operation) {
    return isOfAxes(operation, dims) && std::ranges::count(operation.operands, argument.id) > 0;
  });
  return isUsed ? dims->front() : 0;
}

std::optional<ValueId> pagesOf(const Operation &attention) {
  constexpr size_t kGroup = 15; // among the groups of operands (PEAttention.td)
  if (attention.name != "pe.attention" || !attention.find("operandSegmentSizes"))
    return std::nullopt;
  auto groups = attention.operandGroups(kGroup + 1);
  return groups && !(*groups)[kGroup].empty() ? std::optional((*groups)[kGroup][0]) : std::nullopt;
}

bool hasPages(const Program &program) {
  return std::ranges::any_of(program.operations, [](const Operation &operation) {
    return pagesOf(operation).has_value();
  });
}

/// Returns the sizes of the positions of queries (the first i32 operand) or of keys (the second),
/// or nothing for another argument.
static std::vector<std::string> sizesOfPositions(const Program &program, const Operation &operation,
                                                 ValueId argument) {
  bool areOfQueries = true;
  for (ValueId operand : operation.operands) {
    if (!program.typeOf(operand).ends_with("xi32>"))
      continue;
    if (operand == argument)
      return {"b", areOfQueries ? "r" : "c"};
    areOfQueries = false;
  }
  return {};
}

/// Returns true for a tensor of query(...), whose content term checks its extents.
static bool isContentQuery(const Program &program, ValueId argument) {
  constexpr size_t kGroup = 17; // among the groups of operands (PEAttention.td)
  return std::ranges::any_of(program.operations, [&](const Operation &operation) {
    if (operation.name != "pe.attention")
      return false;
    auto groups = operation.operandGroups(kGroup + 1);
    return groups && std::ranges::find((*groups)[kGroup], argument) != (*groups)[kGroup].end();
  });
}

Expected<plan::CallSizes> bindSizes(const Program &program, const Operation &operation,
                                    const TensorValues &tensors, const SeedValues &seeds,
                                    const Positions &positions) {
  if (operation.operands.size() < 3)
    return operation.fail("expected operands q, k and v");
  const std::pair<const char *, std::vector<std::string>> expected[] = {
      {"q", {"b", "hq", "r", "d"}}, {"k", {"b", "hkv", "c", "d"}}, {"v", {"b", "hkv", "c", "e"}}};
  auto layout = plan::FrameLayout::create(frameOf(program));
  if (!layout)
    return layout.takeError();
  plan::ShapeBinder binder(*layout);
  for (size_t n = 0; n < 3; ++n) {
    auto found = tensors.find(operation.operands[n]);
    if (found == tensors.end())
      return operation.fail("expected q, k and v to be tensors of rank 4");
    const auto &[name, sizes] = expected[n];
    if (Status status = bindTo(*layout, binder, name, sizes, found->second.shape); !status)
      return status.takeError().at(operation.location);
  }
  for (const Argument &argument : program.arguments) {
    auto dims = dimensionsOf(program.typeOf(argument.id));
    const bool isOperand = std::any_of(
        program.operations.begin(), program.operations.end(), [&](const Operation &other) {
          auto last = other.operands.begin() + std::min<size_t>(3, other.operands.size());
          // The tensors of a rotation have other extents, which the rotation checks.
          const bool hasOwnExtents = other.name == "pe.rotation_table" || isOfAxes(other, dims) ||
                                     (other.name == "pe.rotation_fn" && argument.axes.empty());
          if (hasOwnExtents)
            last = other.operands.end();
          return (hasOwnExtents || other.name == "pe.attention" || other.name == "pe.embed") &&
                 std::find(other.operands.begin(), last, argument.id) != last;
        });
    const bool isTable = std::any_of(
        program.operations.begin(), program.operations.end(),
        [&](const Operation &other) { return pagesOf(other) == std::optional(argument.id); });
    if (isOperand || isTable || isContentQuery(program, argument.id) || !dims ||
        !tensors.contains(argument.id))
      continue;
    // An unknown size without an axis is the number of heads, or of batch entries for seeds.
    const bool isSeed = seeds.contains(argument.id);
    std::vector<std::string> meaning = sizesOfPositions(program, operation, argument.id);
    if (meaning.empty())
      meaning = sizesOf(argument, *dims, isSeed ? "batch" : "head");
    if (Status status =
            bindTo(*layout, binder, argument.name, meaning, tensors.at(argument.id).shape);
        !status)
      return status.takeError();
  }
  auto frame = binder.finish(positions);
  if (!frame)
    return frame.takeError();
  return layout->sizesOf(*frame);
}

} // namespace pe::reference
