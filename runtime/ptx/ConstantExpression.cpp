//===- ConstantExpression.cpp - Integer arithmetic in PTX text ------------===//

#include "runtime/ptx/ConstantExpression.h"

namespace pe::ptx {

namespace {

/// Binary operators by precedence; a greater one binds first.
struct Operator {
  std::string_view mark;
  int precedence;
};
constexpr Operator operators[] = {{"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<<", 8},
                                  {">>", 8}, {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"==", 6},
                                  {"!=", 6}, {"&", 5},  {"^", 4},  {"|", 3},  {"&&", 2}, {"||", 1}};

/// Returns the precedence of the token as a binary operator, or 0 if it is not one.
int precedenceOf(const Token &token) {
  if (token.kind != Token::Kind::Mark)
    return 0;
  for (const Operator &candidate : operators)
    if (candidate.mark == token.text)
      return candidate.precedence;
  return 0;
}

/// Shifts to the right; counts of 64 and more leave the sign alone.
uint64_t shiftedRight(Constant a, uint64_t count) {
  if (a.isUnsigned)
    return count > 63 ? 0 : a.bits >> count;
  return static_cast<uint64_t>(static_cast<int64_t>(a.bits) >> (count > 63 ? 63 : count));
}

bool isLess(Constant a, Constant b, bool isUnsigned) {
  return isUnsigned ? a.bits < b.bits : static_cast<int64_t>(a.bits) < static_cast<int64_t>(b.bits);
}

/// A recursive descent whose depth is limited, so that damaged text cannot overflow the stack.
class Evaluator {
public:
  explicit Evaluator(Lexer &lexer) : lexer(lexer) {}

  Constant conditional() {
    const Nesting nesting(*this);
    const Constant condition = binary(1);
    if (!lexer.accept("?"))
      return condition;
    const Constant whenTrue = conditional();
    lexer.expect(":", "in a conditional expression");
    const Constant whenFalse = conditional();
    return {condition.bits ? whenTrue.bits : whenFalse.bits,
            whenTrue.isUnsigned || whenFalse.isUnsigned};
  }

private:
  static constexpr int greatestDepth = 256;

  struct Nesting {
    explicit Nesting(Evaluator &evaluator) : depth(evaluator.depth) {
      if (++depth > greatestDepth)
        evaluator.lexer.fail(evaluator.lexer.peek().line,
                             "expected an expression of at most 256 nested operators, found more");
    }
    ~Nesting() { --depth; }
    int &depth;
  };

  Constant binary(int least) {
    Constant left = unary();
    for (int found; (found = precedenceOf(lexer.peek())) >= least && found > 0;) {
      const Token mark = lexer.take();
      left = apply(mark, left, binary(found + 1));
    }
    return left;
  }

  Constant unary() {
    const Nesting nesting(*this);
    if (lexer.accept("+"))
      return unary();
    if (lexer.accept("-")) {
      const Constant operand = unary();
      return {0 - operand.bits, operand.isUnsigned && operand.bits >> 63 == 0};
    }
    if (lexer.accept("~")) {
      const Constant operand = unary();
      return {~operand.bits, operand.isUnsigned};
    }
    if (lexer.accept("!"))
      return {unary().bits == 0, false};
    return primary();
  }

  Constant primary() {
    const Token token = lexer.peek();
    if (token.kind == Token::Kind::Integer) {
      lexer.take();
      return {token.bits, token.isUnsigned};
    }
    if (token.kind == Token::Kind::Name && token.text == "WARP_SZ") {
      lexer.take();
      return {32, false};
    }
    if (!lexer.accept("("))
      lexer.failExpected("an integer");
    const Token cast = lexer.peek();
    if (cast.isDotted(".s64") || cast.isDotted(".u64")) {
      lexer.take();
      lexer.expect(")", "after a cast");
      return {unary().bits, cast.text == ".u64"};
    }
    const Constant value = conditional();
    lexer.expect(")", "after an expression");
    return value;
  }

  uint64_t quotient(const Token &mark, Constant a, Constant b, bool isUnsigned) {
    const bool isDivision = mark.text == "/";
    if (b.bits == 0)
      lexer.fail(mark.line, "expected a divisor that is not zero, found 0");
    if (isUnsigned)
      return isDivision ? a.bits / b.bits : a.bits % b.bits;
    if (b.bits == ~uint64_t{0}) // the least integer has no positive counterpart
      return isDivision ? 0 - a.bits : 0;
    const auto x = static_cast<int64_t>(a.bits), y = static_cast<int64_t>(b.bits);
    return static_cast<uint64_t>(isDivision ? x / y : x % y);
  }

  Constant apply(const Token &mark, Constant a, Constant b) {
    const std::string_view text = mark.text;
    const bool isUnsigned = a.isUnsigned || b.isUnsigned;
    if (text == "<<")
      return {b.bits > 63 ? 0 : a.bits << b.bits, a.isUnsigned};
    if (text == ">>")
      return {shiftedRight(a, b.bits), a.isUnsigned};
    if (text == "&&" || text == "||")
      return {text == "&&" ? a.bits && b.bits : a.bits || b.bits, false};
    if (text == "==" || text == "!=")
      return {(a.bits == b.bits) == (text == "=="), false};
    if (text == "<" || text == ">=")
      return {isLess(a, b, isUnsigned) == (text == "<"), false};
    if (text == ">" || text == "<=")
      return {isLess(b, a, isUnsigned) == (text == ">"), false};
    switch (text[0]) {
    case '*':
      return {a.bits * b.bits, isUnsigned};
    case '+':
      return {a.bits + b.bits, isUnsigned};
    case '-':
      return {a.bits - b.bits, isUnsigned};
    case '&':
      return {a.bits & b.bits, isUnsigned};
    case '^':
      return {a.bits ^ b.bits, isUnsigned};
    case '|':
      return {a.bits | b.bits, isUnsigned};
    default:
      return {quotient(mark, a, b, isUnsigned), isUnsigned};
    }
  }

  Lexer &lexer;
  int depth = 0;
};

} // namespace

Constant takeConstant(Lexer &lexer) { return Evaluator(lexer).conditional(); }

uint64_t takeCount(Lexer &lexer, std::string_view what, uint64_t least, uint64_t greatest) {
  const Token first = lexer.peek();
  if (first.kind != Token::Kind::Integer && !first.isMark("(") && !first.isMark("-"))
    lexer.failExpected(what);
  const Constant value = takeConstant(lexer);
  const bool isNegative = !value.isUnsigned && static_cast<int64_t>(value.bits) < 0;
  if (isNegative || value.bits < least || value.bits > greatest)
    lexer.fail(first.line, "expected " + std::string(what) + " from " + std::to_string(least) +
                               " to " + std::to_string(greatest) + ", found " +
                               (isNegative ? std::to_string(static_cast<int64_t>(value.bits))
                                           : std::to_string(value.bits)));
  return value.bits;
}

} // namespace pe::ptx
