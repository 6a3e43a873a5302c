//===- EvaluateTest.cpp - Evaluation of formulas --------------------------===//

#include "runtime/plan/Evaluate.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

namespace {

const NamedArrays kArrays = {{"c", {2}}, {"r", {1, -2, 3}}, {"s", {4, 5}}, {"none", {}}};

std::string error(std::string_view formula) {
  Expected<std::vector<double>> value = evaluate(formula, kArrays);
  EXPECT_FALSE(value) << formula;
  return value ? "" : value.error().getMessage();
}

} // namespace

TEST(EvaluateTest, OperatorsAndFunctions) {
  using Values = std::vector<double>;
  for (const auto &[formula, expected] :
       std::vector<std::pair<std::string, Values>>{{"abs(c) * 512", {1024}},
                                                   {"-r", {-1, 2, -3}},
                                                   {"r * c + 1", {3, -3, 7}},
                                                   {"c ^ 3 / 4", {2}},
                                                   {"max(r, 0)", {1, 0, 3}},
                                                   {"r > 0", {1, 0, 1}},
                                                   {"exp(log(c))", {2}},
                                                   {"none + 1", {}}}) {
    Expected<Values> value = evaluate(formula, kArrays);
    ASSERT_TRUE(value) << formula << ": " << value.error().getMessage();
    ASSERT_EQ(value->size(), expected.size()) << formula;
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR((*value)[i], expected[i], 1e-12) << formula;
  }
}

TEST(EvaluateTest, Errors) {
  EXPECT_EQ(error("r + s"), "expected arrays of one length, found 3 and 2 elements");
  EXPECT_EQ(error("L * 2"), "expected the name of a parameter, found 'L'");
  EXPECT_EQ(error("gamma(c)"), "expected a function with 1 argument(s), found 'gamma'");
  EXPECT_EQ(error("r[0]"), "expected parameters without indices, found an element of 'r'");
  EXPECT_NE(error("c +").find("character"), std::string::npos);
}
