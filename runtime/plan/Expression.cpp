//===- Expression.cpp - Infix formulas ------------------------------------===//

#include "runtime/plan/Expression.h"

#include "runtime/plan/ExpressionHints.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace pe::plan {
namespace {

/// The parser recurses into nested parts and users of the tree into operator chains, so both are
/// bounded.
constexpr int kMaxDepth = 200;
constexpr size_t kMaxLength = 4096;
constexpr std::initializer_list<std::string_view> kComparisons = {"<=", ">=", "==", "!=", "<", ">"};

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.pop_back();
  return text;
}

/// A recursive descent parser that stops at the first error.
class Parser {
public:
  explicit Parser(std::string_view source) : source(source) {}

  std::variant<Expression, ExpressionError> parse() {
    Expression result = parseExpression();
    skipSpaces();
    if (!error && at != source.size())
      fail(unexpectedCharacter(source, at, "an operator or the end"));
    if (error)
      return *error;
    return result;
  }

private:
  Expression parseExpression();
  Expression parseLet();
  Expression parseBoth();
  Expression parseNegation();
  Expression parseComparison();
  Expression parseSum();
  Expression parseProduct();
  Expression parseSign();
  Expression parsePower();
  Expression parsePrimary();
  Expression parseNumber();
  Expression parseName();
  void parseList(char close, std::vector<Expression> &list);

  void skipSpaces() {
    while (at < source.size() && std::isspace(static_cast<unsigned char>(source[at])))
      ++at;
  }

  /// Consumes and returns the first of `symbols` found at the current position, or returns "".
  std::string_view consumeAny(std::initializer_list<std::string_view> symbols) {
    skipSpaces();
    for (std::string_view symbol : symbols)
      if (source.substr(at).starts_with(symbol)) {
        at += symbol.size();
        return symbol;
      }
    return {};
  }

  static bool isNameCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  }

  /// Consumes `word` if it is a complete word at the current position.
  bool consumeWord(std::string_view word) {
    skipSpaces();
    const size_t end = at + word.size();
    if (!source.substr(at).starts_with(word) ||
        (end < source.size() && isNameCharacter(source[end])))
      return false;
    at = end;
    return true;
  }

  Expression fail(std::string message) {
    if (!error)
      error = ExpressionError{at, std::move(message)};
    return {};
  }

  static Expression call(std::string_view name, size_t offset, std::vector<Expression> children) {
    return {Expression::Kind::Call, std::string(name), 0, std::move(children), offset};
  }

  /// Parses operand (word operand)*, left-associative.
  template <typename Operand> Expression parseWords(std::string_view word, Operand operand) {
    Expression left = operand();
    while (!error) {
      skipSpaces();
      size_t offset = at;
      if (!consumeWord(word))
        break;
      left = call(word, offset, {std::move(left), operand()});
    }
    return left;
  }

  template <typename Operand>
  Expression parseChain(std::initializer_list<std::string_view> symbols, Operand operand) {
    Expression left = operand();
    while (!error) {
      skipSpaces();
      size_t offset = at;
      std::string_view symbol = consumeAny(symbols);
      if (symbol.empty())
        break;
      left = call(symbol, offset, {std::move(left), operand()});
    }
    return left;
  }

  std::string_view source;
  size_t at = 0;
  int depth = 0;
  std::optional<ExpressionError> error;
};

Expression Parser::parseExpression() {
  skipSpaces();
  const size_t start = at;
  // The word may also be a name or the beginning of one: "let[h]", "letter".
  if (consumeWord("let")) {
    skipSpaces();
    if (at < source.size() &&
        (std::isalpha(static_cast<unsigned char>(source[at])) || source[at] == '_'))
      return parseLet();
    at = start;
  }
  return parseWords("or", [this] { return parseBoth(); });
}

/// Parses "name = value in body" after the word let.
Expression Parser::parseLet() {
  if (depth == kMaxDepth)
    return fail("expected at most " + std::to_string(kMaxDepth) + " nested levels");
  ++depth;
  Expression result;
  result.kind = Expression::Kind::Let;
  result.offset = at;
  const size_t begin = at;
  while (at < source.size() && isNameCharacter(source[at]))
    ++at;
  result.text = source.substr(begin, at - begin);
  if (consumeAny({"="}).empty())
    return fail("expected '=' after let " + result.text);
  result.children.push_back(parseExpression());
  if (!error && !consumeWord("in"))
    return fail("expected an operator, or 'in' before the expression that uses " + result.text);
  if (!error)
    result.children.push_back(parseExpression());
  --depth;
  return result;
}

Expression Parser::parseBoth() {
  return parseWords("and", [this] { return parseNegation(); });
}

Expression Parser::parseNegation() {
  skipSpaces();
  const size_t offset = at;
  if (!consumeWord("not"))
    return parseComparison();
  if (depth == kMaxDepth)
    return fail("expected at most " + std::to_string(kMaxDepth) + " nested levels");
  ++depth;
  Expression result = call("not", offset, {parseNegation()});
  --depth;
  return result;
}

Expression Parser::parseComparison() {
  skipSpaces();
  const size_t begin = at;
  Expression left = parseSum();
  skipSpaces();
  size_t offset = at;
  std::string_view symbol = consumeAny(kComparisons);
  if (error || symbol.empty())
    return left;
  skipSpaces();
  const size_t middle = at;
  Expression result = call(symbol, offset, {std::move(left), parseSum()});
  skipSpaces();
  const size_t second = at;
  if (error || consumeAny(kComparisons).empty())
    return result;
  parseSum();
  if (error)
    return {};
  // 0 <= i - j < 10
  const std::string first(source.substr(begin, second - begin));
  const std::string last(source.substr(middle, at - middle));
  at = second;
  return fail("expected one comparison, found two in a chain; write " + trimmed(first) + " and " +
              trimmed(last));
}

Expression Parser::parseSum() {
  return parseChain({"+", "-"}, [this] { return parseProduct(); });
}

Expression Parser::parseProduct() {
  return parseChain({"*", "//", "/", "%"}, [this] { return parseSign(); });
}

Expression Parser::parseSign() {
  // Every level of nesting passes through here.
  if (depth == kMaxDepth)
    return fail("expected at most " + std::to_string(kMaxDepth) + " nested levels");
  ++depth;
  skipSpaces();
  size_t offset = at;
  Expression result = consumeAny({"-"}).empty() ? parsePower() : call("-", offset, {parseSign()});
  --depth;
  return result;
}

Expression Parser::parsePower() {
  Expression base = parsePrimary();
  skipSpaces();
  size_t offset = at;
  if (error || consumeAny({"^"}).empty())
    return base;
  return call("^", offset, {std::move(base), parseSign()});
}

void Parser::parseList(char close, std::vector<Expression> &list) {
  do
    list.push_back(parseExpression());
  while (!error && !consumeAny({","}).empty());
  if (!error && consumeAny({std::string_view(&close, 1)}).empty())
    fail(unexpectedCharacter(source, at, std::string("an operator, ',' or '") + close + "'"));
}

Expression Parser::parsePrimary() {
  skipSpaces();
  unsigned char first = at < source.size() ? static_cast<unsigned char>(source[at]) : 0;
  if (std::isdigit(first) || first == '.')
    return parseNumber();
  if (std::isalpha(first) || first == '_')
    return parseName();
  if (first != '(')
    return fail(unexpectedCharacter(source, at, "a number, a name or '('"));
  ++at;
  std::vector<Expression> inner;
  inner.push_back(parseExpression());
  if (!error && consumeAny({")"}).empty())
    return fail(unexpectedCharacter(source, at, "an operator or ')'"));
  return std::move(inner.front());
}

Expression Parser::parseNumber() {
  Expression result;
  result.offset = at;
  const char *begin = source.data() + at, *end = source.data() + source.size();
  auto [stop, status] = std::from_chars(begin, end, result.number);
  if (status != std::errc())
    return fail("expected a number that fits into f64");
  std::string_view digits(begin, stop - begin);
  at += digits.size();
  bool isInteger =
      std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
  result.kind = isInteger ? Expression::Kind::Integer : Expression::Kind::Real;
  return result;
}

Expression Parser::parseName() {
  Expression result;
  result.kind = Expression::Kind::Name;
  result.offset = at;
  size_t end = at;
  while (end < source.size() && isNameCharacter(source[end]))
    ++end;
  result.text = source.substr(at, end - at);
  at = end;
  if (!consumeAny({"["}).empty()) {
    result.kind = Expression::Kind::Read;
    parseList(']', result.children);
  } else if (!consumeAny({"("}).empty()) {
    result.kind = Expression::Kind::Call;
    parseList(')', result.children);
  }
  return result;
}

} // namespace

std::variant<Expression, ExpressionError> parseExpression(std::string_view source) {
  if (source.size() > kMaxLength)
    return ExpressionError{kMaxLength, "expected a formula of at most " +
                                           std::to_string(kMaxLength) + " characters, found " +
                                           std::to_string(source.size())};
  return Parser(source).parse();
}

} // namespace pe::plan
