//===- SizeExpression.cpp - Expressions over the sizes of a call ----------===//

#include "runtime/plan/SizeExpression.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace pe::plan {

using Kind = SizeExpression::Kind;

/// Larger than in any real expression; prevents hostile input from overflowing the stack.
static constexpr int kMaxDepth = 64;

/// A recursive descent parser of the grammar in the header, which appends steps. Every method
/// returns false after an error, which `problem` describes.
class SizeExpressionParser {
public:
  SizeExpressionParser(SizeExpression &out, std::string &problem)
      : text(out.source), out(out), problem(problem) {}

  bool parse() { return sum(0) && (!peek() || fail("an operator or the end")); }

private:
  bool fail(const std::string &expected) {
    problem = "expected " + expected + ", found " +
              (peek() ? "'" + std::string(text.substr(at, 40)) + "'" : "the end");
    return false;
  }
  static bool isLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
  static bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
  /// Returns the next character that is not a space, or 0 at the end.
  char peek() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
    return at < text.size() ? text[at] : 0;
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  bool expect(char c) { return take(c) || fail(std::string("'") + c + "'"); }
  bool emit(Kind kind, int64_t value = 0, std::string name = {}) {
    out.steps.push_back({kind, value, std::move(name)});
    return true;
  }

  bool sum(int depth) {
    if (depth > kMaxDepth)
      return fail("at most " + std::to_string(kMaxDepth) + " nested parentheses");
    if (!product(depth))
      return false;
    while (peek() == '+' || peek() == '-') {
      const Kind kind = text[at++] == '+' ? Kind::Add : Kind::Subtract;
      if (!product(depth))
        return false;
      emit(kind);
    }
    return true;
  }

  bool product(int depth) {
    if (!factor(depth))
      return false;
    while (take('*')) {
      if (!factor(depth))
        return false;
      emit(Kind::Multiply);
    }
    return true;
  }

  bool factor(int depth) {
    const char c = peek();
    if (isDigit(c))
      return integer();
    if (isLetter(c))
      return word(depth);
    if (!take('('))
      return fail("an integer, a name or '('");
    return sum(depth + 1) && expect(')');
  }

  bool integer() {
    int64_t value = 0;
    const size_t begin = at;
    for (; at < text.size() && isDigit(text[at]); ++at)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text[at] - '0', &value)) {
        at = begin;
        return fail("an integer below 2^63");
      }
    return emit(Kind::Constant, value);
  }

  bool word(int depth) {
    const size_t begin = at;
    while (at < text.size() && (isLetter(text[at]) || isDigit(text[at])))
      ++at;
    const std::string_view name = text.substr(begin, at - begin);
    if (name == "ceildiv")
      return call(Kind::CeilDiv, depth);
    if (name == "max")
      return call(Kind::Max, depth);
    if (name == "min")
      return call(Kind::Min, depth);
    return emit(Kind::Name, 0, std::string(name));
  }

  bool call(Kind kind, int depth) {
    return expect('(') && sum(depth + 1) && expect(',') && sum(depth + 1) && expect(')') &&
           emit(kind);
  }

  std::string_view text;
  SizeExpression &out;
  std::string &problem;
  size_t at = 0;
};

std::optional<SizeExpression> SizeExpression::parse(std::string_view text, std::string &problem) {
  SizeExpression expression;
  expression.source = std::string(text);
  if (SizeExpressionParser(expression, problem).parse())
    return expression;
  return std::nullopt;
}

Expected<SizeExpression> SizeExpression::parse(std::string_view text) {
  std::string problem;
  if (std::optional<SizeExpression> expression = parse(text, problem))
    return *std::move(expression);
  return makeError("size expression '", text.substr(0, 80), "': ", problem);
}

const std::string *SizeExpression::findOtherThan(std::span<const std::string> names) const {
  for (const Step &step : steps)
    if (step.kind == Kind::Name && std::ranges::find(names, step.name) == names.end())
      return &step.name;
  return nullptr;
}

Status SizeExpression::resolve(std::span<const std::string> names) {
  if (const std::string *other = findOtherThan(names)) {
    std::string known;
    for (const std::string &name : names)
      if (!name.empty())
        known += (known.empty() ? "" : ", ") + name;
    return makeError("size expression '", source, "': expected the names ", known, ", found '",
                     *other, "'");
  }
  for (Step &step : steps)
    if (step.kind == Kind::Name)
      step.value = std::ranges::find(names, step.name) - names.begin();
  return Status::success();
}

const std::string *SizeExpression::asName() const {
  return steps.size() == 1 && steps[0].kind == Kind::Name ? &steps[0].name : nullptr;
}

int64_t sizeOfBlocks(int64_t count, int64_t block) {
  int64_t size = 0;
  return __builtin_mul_overflow(count, block, &size) ? std::numeric_limits<int64_t>::max() : size;
}

std::optional<std::pair<int64_t, int64_t>> SizeExpression::asBlocks() const {
  const bool isQuotient = steps.size() == 3 && steps[0].kind == Kind::Name &&
                          steps[1].kind == Kind::Name && steps[2].kind == Kind::CeilDiv;
  return isQuotient ? std::optional(std::pair(steps[0].value, steps[1].value)) : std::nullopt;
}

std::optional<int64_t> SizeExpression::asConstant() const {
  if (steps.size() == 1 && steps[0].kind == Kind::Constant)
    return steps[0].value;
  return std::nullopt;
}

/// Returns the value of an operator, or sets `problem`.
static int64_t apply(Kind kind, int64_t left, int64_t right, std::string &problem) {
  int64_t result = 0;
  bool overflow = false;
  switch (kind) {
  case Kind::Add:
    overflow = __builtin_add_overflow(left, right, &result);
    break;
  case Kind::Subtract:
    overflow = __builtin_sub_overflow(left, right, &result);
    break;
  case Kind::Multiply:
    overflow = __builtin_mul_overflow(left, right, &result);
    break;
  case Kind::CeilDiv:
    if (right > 0 && left >= 0)
      return left / right + (left % right != 0);
    problem = "expected ceildiv of a number >= 0 by a number > 0, found " + std::to_string(left) +
              " and " + std::to_string(right);
    return 0;
  case Kind::Max:
    return std::max(left, right);
  default:
    return std::min(left, right);
  }
  if (overflow)
    problem = "the value does not fit in 64 bits";
  return result;
}

template <typename Lookup> Expected<int64_t> SizeExpression::run(Lookup lookup) const {
  std::string problem;
  const auto leaf = [&](const Step &step) -> int64_t {
    if (step.kind == Kind::Constant)
      return step.value;
    const int64_t *value = lookup(step);
    if (!value && problem.empty())
      problem = "no tensor of the call gives '" + step.name + "'";
    return value ? *value : 0;
  };
  // Each level of parentheses holds at most three operands: of a sum, a product and a function.
  // Every call evaluates expressions, so nothing is allocated.
  int64_t stack[3 * (kMaxDepth + 2)];
  int64_t *top = stack; // one past the last operand
  for (const Step &step : steps) {
    if (step.kind == Kind::Constant || step.kind == Kind::Name) {
      *top++ = leaf(step);
      continue;
    }
    const int64_t right = *--top;
    top[-1] = problem.empty() ? apply(step.kind, top[-1], right, problem) : 0;
  }
  const int64_t value = top[-1];
  if (!problem.empty())
    return makeError("size expression '", source, "': ", problem);
  return value;
}

Expected<int64_t> SizeExpression::checkSign(Expected<int64_t> value) const {
  if (value && *value < 0)
    return makeError("size expression '", source, "': expected a size of at least 0, found ",
                     *value);
  return value;
}

Expected<int64_t> SizeExpression::evaluate(const SizeValues &values) const {
  return checkSign(run([&](const Step &step) {
    const auto found = values.find(step.name);
    return found == values.end() ? nullptr : &found->second;
  }));
}

Expected<int64_t> SizeExpression::evaluateSigned(std::span<const int64_t> values) const {
  return run([&](const Step &step) { return &values[step.value]; });
}

Expected<int64_t> SizeExpression::evaluate(std::span<const int64_t> values) const {
  return checkSign(evaluateSigned(values));
}

} // namespace pe::plan
