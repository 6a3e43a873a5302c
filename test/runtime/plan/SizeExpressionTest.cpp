//===- SizeExpressionTest.cpp - Parsing and evaluating sizes --------------===//

#include "runtime/plan/SizeExpression.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

/// b 2, hq 8, hkv 4, r 100, c 200, d 64; e is not bound.
static const SizeValues kValues = {2, 8, 4, 100, 200, 64, std::nullopt};

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
  EXPECT_EQ(SizeExpression::parse("hq")->asName(), SizeName::Hq);
  EXPECT_EQ(SizeExpression::parse("64")->asConstant(), 64);
  EXPECT_FALSE(SizeExpression::parse("hq+0")->asName());
  EXPECT_FALSE(SizeExpression::parse("hq")->asConstant());
}

TEST(SizeExpression, SyntaxErrorsShowThePlace) {
  EXPECT_NE(parseError("").find("end of text"), std::string::npos);
  EXPECT_NE(parseError("b*").find("end of text"), std::string::npos);
  EXPECT_NE(parseError("b hq").find("expected an operator, found 'hq'"), std::string::npos);
  EXPECT_NE(parseError("x+1").find("found 'x+1'"), std::string::npos);
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
