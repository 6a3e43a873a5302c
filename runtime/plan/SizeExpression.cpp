//===- SizeExpression.cpp - Sizes known when a call is made ---------------===//

#include "runtime/plan/SizeExpression.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace pe::plan {

static constexpr std::string_view kNames[kSizeNames] = {"b", "hq", "hkv", "r", "c", "d", "e"};

std::string_view nameOf(SizeName name) { return kNames[static_cast<size_t>(name)]; }

/// Recursive descent over the grammar in the header, writing postfix code.
class SizeExpressionParser {
public:
  SizeExpressionParser(std::string_view text, SizeExpression &out) : text(text), out(out) {}

  Status parse() {
    if (Status s = sum(0); !s)
      return s;
    if (peek())
      return fail("expected an operator");
    return Status::success();
  }

private:
  using Kind = SizeExpression::Kind;
  static constexpr int kMaxDepth = 64;

  Error fail(const std::string &what) const {
    return makeError("size expression '", text, "': ", what, ", found '",
                     at < text.size() ? std::string(text.substr(at)) : "end of text", "'");
  }
  /// The next character that is no space, or 0 at the end.
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
  void emit(Kind kind, int64_t value = 0) { out.code.push_back({kind, value}); }

  Status sum(int depth) {
    if (Status s = product(depth); !s)
      return s;
    while (peek() == '+' || peek() == '-') {
      const Kind kind = text[at++] == '+' ? Kind::Add : Kind::Subtract;
      if (Status s = product(depth); !s)
        return s;
      emit(kind);
    }
    return Status::success();
  }

  Status product(int depth) {
    if (Status s = factor(depth); !s)
      return s;
    while (take('*')) {
      if (Status s = factor(depth); !s)
        return s;
      emit(Kind::Multiply);
    }
    return Status::success();
  }

  Status factor(int depth) {
    if (depth > kMaxDepth)
      return makeError("size expression '", text.substr(0, 40), "...': expected at most ",
                       kMaxDepth, " nested parentheses");
    const char c = peek();
    if (std::isdigit(static_cast<unsigned char>(c)))
      return integer();
    if (std::isalpha(static_cast<unsigned char>(c)))
      return word(depth);
    if (!take('('))
      return fail("expected an integer, a name or '('");
    if (Status s = sum(depth + 1); !s)
      return s;
    return take(')') ? Status::success() : Status(fail("expected ')'"));
  }

  Status integer() {
    int64_t value = 0;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text[at] - '0', &value))
        return fail("expected an integer below 2^63");
    emit(Kind::Constant, value);
    return Status::success();
  }

  Status word(int depth) {
    const size_t begin = at;
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])))
      ++at;
    const std::string_view name = text.substr(begin, at - begin);
    if (name == "ceildiv")
      return call(Kind::CeilDiv, depth);
    if (name == "max")
      return call(Kind::Max, depth);
    if (name == "min")
      return call(Kind::Min, depth);
    const auto *found = std::find(std::begin(kNames), std::end(kNames), name);
    if (found == std::end(kNames)) {
      at = begin;
      return fail("expected one of b, hq, hkv, r, c, d, e, ceildiv, max, min");
    }
    emit(Kind::Name, found - std::begin(kNames));
    return Status::success();
  }

  Status call(Kind kind, int depth) {
    if (!take('('))
      return fail("expected '('");
    if (Status s = sum(depth + 1); !s)
      return s;
    if (!take(','))
      return fail("expected ','");
    if (Status s = sum(depth + 1); !s)
      return s;
    if (!take(')'))
      return fail("expected ')'");
    emit(kind);
    return Status::success();
  }

  std::string_view text;
  SizeExpression &out;
  size_t at = 0;
};

Expected<SizeExpression> SizeExpression::parse(std::string_view text) {
  SizeExpression expression;
  expression.source = std::string(text);
  if (Status s = SizeExpressionParser(expression.source, expression).parse(); !s)
    return s.takeError();
  return expression;
}

std::optional<SizeName> SizeExpression::asName() const {
  if (code.size() == 1 && code[0].kind == Kind::Name)
    return static_cast<SizeName>(code[0].value);
  return std::nullopt;
}

std::optional<int64_t> SizeExpression::asConstant() const {
  if (code.size() == 1 && code[0].kind == Kind::Constant)
    return code[0].value;
  return std::nullopt;
}

Expected<int64_t> SizeExpression::evaluate(const SizeValues &values) const {
  std::vector<int64_t> stack;
  for (const Instruction &step : code) {
    if (step.kind == Kind::Constant) {
      stack.push_back(step.value);
      continue;
    }
    if (step.kind == Kind::Name) {
      const std::optional<int64_t> &value = values[static_cast<size_t>(step.value)];
      if (!value)
        return makeError("size expression '", source, "': no tensor of the call gives '",
                         kNames[step.value], "'");
      stack.push_back(*value);
      continue;
    }
    const int64_t right = stack.back();
    stack.pop_back();
    int64_t &left = stack.back();
    bool overflow = false;
    switch (step.kind) {
    case Kind::Add:
      overflow = __builtin_add_overflow(left, right, &left);
      break;
    case Kind::Subtract:
      overflow = __builtin_sub_overflow(left, right, &left);
      break;
    case Kind::Multiply:
      overflow = __builtin_mul_overflow(left, right, &left);
      break;
    case Kind::CeilDiv:
      if (right <= 0 || left < 0)
        return makeError("size expression '", source,
                         "': expected ceildiv of a number >= 0 by a number > 0, found ", left,
                         " and ", right);
      left = left / right + (left % right != 0);
      break;
    case Kind::Max:
      left = std::max(left, right);
      break;
    default:
      left = std::min(left, right);
    }
    if (overflow)
      return makeError("size expression '", source, "': the value does not fit in 64 bits");
  }
  if (stack.back() < 0)
    return makeError("size expression '", source, "': expected a size of at least 0, found ",
                     stack.back());
  return stack.back();
}

} // namespace pe::plan
