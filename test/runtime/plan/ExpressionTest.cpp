//===- ExpressionTest.cpp - The parser of formulas ------------------------===//
//
// Compares the trees of valid formulas as text, and checks limits and the offsets of errors.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Expression.h"

#include <gtest/gtest.h>

namespace pe::test {
namespace {

using pe::plan::Expression;
using pe::plan::ExpressionError;
using pe::plan::parseExpression;

/// Prints calls as (name operand ...) and reads as name[...].
std::string print(const Expression &expression) {
  std::string children;
  for (const Expression &child : expression.children)
    children += " " + print(child);
  switch (expression.kind) {
  case Expression::Kind::Integer:
    return std::to_string(static_cast<long>(expression.number));
  case Expression::Kind::Real:
    return std::to_string(expression.number);
  case Expression::Kind::Name:
    return expression.text;
  case Expression::Kind::Read:
    return expression.text + "[" + children.substr(1) + "]";
  case Expression::Kind::Call:
    return "(" + expression.text + children + ")";
  case Expression::Kind::Let:
    return "(let " + expression.text + children + ")";
  }
  return {};
}

std::string parse(std::string_view source) {
  auto result = parseExpression(source);
  if (auto *error = std::get_if<ExpressionError>(&result))
    return std::to_string(error->offset) + ": " + error->message;
  return print(std::get<Expression>(result));
}

TEST(Expression, OperatorPrecedence) {
  EXPECT_EQ(parse("a + b * c - d"), "(- (+ a (* b c)) d)");
  EXPECT_EQ(parse("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(parse("a / b * c"), "(* (/ a b) c)");
  EXPECT_EQ(parse("-a^b^c"), "(- (^ a (^ b c)))");
  EXPECT_EQ(parse("a^-b * c"), "(* (^ a (- b)) c)");
  EXPECT_EQ(parse("- -a"), "(- (- a))");
  EXPECT_EQ(parse("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(parse("a + b <= c * d"), "(<= (+ a b) (* c d))");
}

TEST(Expression, QuotientsAndRemainders) {
  EXPECT_EQ(parse("a // b % c / d"), "(/ (% (// a b) c) d)");
  EXPECT_EQ(parse("-a // b"), "(// (- a) b)");
  EXPECT_EQ(parse("a % b ^ c"), "(% a (^ b c))");
}

TEST(Expression, Booleans) {
  EXPECT_EQ(parse("a < b and c or not d == e and f"),
            "(or (and (< a b) c) (and (not (== d e)) f))");
  EXPECT_EQ(parse("not not (a or b)"), "(not (not (or a b)))");
  EXPECT_EQ(parse("and(a, or(b, not(c)))"), "(and a (or b (not c)))");
  EXPECT_EQ(parse("order < android"), "(< order android)");
}

TEST(Expression, Let) {
  EXPECT_EQ(parse("let x = a + 1 in x * x"), "(let x (+ a 1) (* x x))");
  EXPECT_EQ(parse("2 * (let x = let y = a in y in x)"), "(* 2 (let x (let y a y) x))");
  EXPECT_EQ(parse("let[h] + letter"), "(+ let[h] letter)");
  EXPECT_EQ(parse("let x a"), "6: expected '=' after let x");
  EXPECT_EQ(parse("let x = a"),
            "9: expected an operator, or 'in' before the expression that uses x");
  EXPECT_EQ(parse("let x = a inner"),
            "10: expected an operator, or 'in' before the expression that uses x");
}

TEST(Expression, Leaves) {
  EXPECT_EQ(parse("12"), "12");
  EXPECT_EQ(parse("1.5"), "1.500000");
  EXPECT_EQ(parse("1e-3"), "0.001000");
  EXPECT_EQ(parse(" t[ i , h+1 ] "), "t[i (+ h 1)]");
  EXPECT_EQ(parse("f(a, b < c)"), "(f a (< b c))");
}

TEST(Expression, ErrorsHaveTheirOffset) {
  EXPECT_EQ(parse(""), "0: expected a number, a name or '(', found the end");
  EXPECT_EQ(parse("a + * b"), "4: expected a number, a name or '(', found '*'");
  EXPECT_EQ(parse("a b"), "2: expected an operator or the end, found 'b'");
  EXPECT_EQ(parse("a < b < c"),
            "6: expected one comparison, found two in a chain; write a < b and b < c");
  EXPECT_EQ(parse("(a"), "2: expected an operator or ')', found the end");
  EXPECT_EQ(parse("t[a"), "3: expected an operator, ',' or ']', found the end");
  EXPECT_EQ(parse("f()"), "2: expected a number, a name or '(', found ')'");
}

TEST(Expression, HintsForOtherLanguages) {
  EXPECT_EQ(parse("x ** 2"),
            "3: expected a number, a name or '(', found '**'; a power is written x ^ 2");
  EXPECT_EQ(parse("torch.exp(x)"), "5: expected an operator or the end, found '.'; write exp(...) "
                                   "without 'torch.'");
  EXPECT_EQ(parse("a if c else b"), "2: expected an operator or the end, found 'if'; a choice is "
                                    "written select(condition, a, b)");
  EXPECT_EQ(parse("a && b"), "2: expected an operator or the end, found '&&'; write 'and'");
  EXPECT_EQ(parse("0 <= i - j < 10"), "11: expected one comparison, found two in a chain; write 0 "
                                      "<= i - j and i - j < 10");
  EXPECT_EQ(parse("a \u2264 b"), "2: expected an operator or the end, found '\u2264'; write <=");
}

TEST(Expression, IsBounded) {
  EXPECT_EQ(parse(std::string(150, '(') + "a" + std::string(150, ')')), "a");
  EXPECT_NE(parse(std::string(1000, '(')).find("at most 200 nested levels"), std::string::npos);
  EXPECT_NE(parse(std::string(1000, '-')).find("at most 200 nested levels"), std::string::npos);
  std::string negations, names;
  for (int n = 0; n < 300; ++n) {
    negations += "not ";
    names += "let x = 1 in ";
  }
  EXPECT_NE(parse(negations + "a").find("at most 200 nested levels"), std::string::npos);
  EXPECT_NE(parse(names + "a").find("at most 200 nested levels"), std::string::npos);
  std::string chain = "1";
  while (chain.size() <= 4096)
    chain += "^1";
  EXPECT_NE(parse(chain).find("at most 4096 characters, found 4097"), std::string::npos);
}

} // namespace
} // namespace pe::test
