//===- SizeExpressionTest.cpp - Parsing and evaluating sizes --------------===//

#include "runtime/plan/SizeExpression.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

/// Has no value for e.
static const SizeValues kValues = {{"b", 2},   {"hq", 8},  {"hkv", 4},
                                   {"r", 100}, {"c", 200}, {"d", 64}};

static int64_t evaluate(const std::string &text) {
  Expected<SizeExpression> expression = SizeExpression::parse(text);
  EXPECT_TRUE(expression) << (expression ? "" : expression.error().getMessage());
  if (!expression)
    return -1;
  Expected<int64_t> value = expression->evaluate(kValues);
  EXPECT_TRUE(value) << (value ? "" : value.error().getMessage());
  return value ? *value : -1;
}

static std::string parseError(const std::string &text) {
  Expected<SizeExpression> expression = SizeExpression::parse(text);
  EXPECT_FALSE(expression) << text;
  return expression ? "" : expression.error().getMessage();
}

static std::string evaluateError(const std::string &text) {
  Expected<SizeExpression> expression = SizeExpression::parse(text);
  EXPECT_TRUE(expression) << text;
  Expected<int64_t> value = expression->evaluate(kValues);
  EXPECT_FALSE(value) << text;
  return value ? "" : value.error().getMessage();
}

TEST(SizeExpression, Values) {
  EXPECT_EQ(evaluate("7"), 7);
  EXPECT_EQ(evaluate("b*hq*ceildiv(r,96)"), 32);
  EXPECT_EQ(evaluate(" 2 + 3 * 4 - 1 "), 13);
  EXPECT_EQ(evaluate("10-3-2"), 5);
  EXPECT_EQ(evaluate("(2+3)*4"), 20);
  EXPECT_EQ(evaluate("max(r,c)+min(r,c)"), 300);
  EXPECT_EQ(evaluate("ceildiv(r,24)*24"), 120);
  EXPECT_EQ(evaluate("ceildiv(0,24)"), 0);
  EXPECT_EQ(evaluate("hkv"), 4);
  EXPECT_EQ(evaluate("d"), 64);
}

TEST(SizeExpression, SimpleForms) {
  EXPECT_EQ(*SizeExpression::parse("hq")->asName(), "hq");
  EXPECT_EQ(SizeExpression::parse("64")->asConstant(), 64);
  EXPECT_FALSE(SizeExpression::parse("hq+0")->asName());
  EXPECT_FALSE(SizeExpression::parse("hq")->asConstant());
}

TEST(SizeExpression, SyntaxErrorsShowTheLocation) {
  EXPECT_EQ(parseError(""),
            "size expression '': expected an integer, a name or '(', found the end");
  EXPECT_NE(parseError("b*").find("found the end"), std::string::npos);
  EXPECT_NE(parseError("b hq").find("expected an operator or the end, found 'hq'"),
            std::string::npos);
  EXPECT_NE(parseError("$+1").find("found '$+1'"), std::string::npos);
  EXPECT_NE(parseError("(b").find("expected ')'"), std::string::npos);
  EXPECT_NE(parseError("ceildiv(b)").find("expected ','"), std::string::npos);
  EXPECT_NE(parseError("b/2").find("found '/2'"), std::string::npos);
  EXPECT_NE(parseError("99999999999999999999").find("below 2^63"), std::string::npos);
  EXPECT_NE(parseError(std::string(100000, '(')).find("nested"), std::string::npos);
}

TEST(SizeExpression, EvaluationErrors) {
  EXPECT_NE(evaluateError("e").find("gives 'e'"), std::string::npos);
  EXPECT_NE(evaluateError("b-3").find("found -1"), std::string::npos);
  EXPECT_NE(evaluateError("ceildiv(b,0)").find("expected ceildiv"), std::string::npos);
  EXPECT_NE(evaluateError("4611686018427387904*2").find("64 bits"), std::string::npos);
}

// `resolve` takes the names that exist, in the order of their values.
TEST(SizeExpression, ResolvedNames) {
  const std::string names[] = {"b", "k_start", "r"};
  SizeExpression expression = *SizeExpression::parse("r*2 + k_start");
  ASSERT_TRUE(expression.resolve(names));
  const int64_t some[] = {1, -7, 5}, others[] = {1, -11, 5};
  EXPECT_EQ(*expression.evaluate(some), 3);
  EXPECT_FALSE(expression.evaluate(others));
  EXPECT_EQ(*expression.evaluateSigned(others), -1);
  SizeExpression unknown = *SizeExpression::parse("r + rows_2");
  Status status = unknown.resolve(names);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().getMessage(),
            "size expression 'r + rows_2': expected the names b, k_start, r, found 'rows_2'");
  EXPECT_EQ(*unknown.findOtherThan(names), "rows_2");
}
