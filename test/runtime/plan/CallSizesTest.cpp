//===- CallSizesTest.cpp - Defaults and limits of positions ---------------===//

#include "runtime/plan/CallSizes.h"
#include "runtime/plan/Frame.h"

#include <gtest/gtest.h>
#include <limits>

using namespace pe;
using namespace pe::plan;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

CallSizes sizesOf(int64_t queries, int64_t keys) { return {2, 4, 2, queries, keys}; }

std::string errorOf(CallSizes sizes, const Positions &positions) {
  Status placed = place(sizes, positions);
  return placed ? "" : placed.error().getMessage();
}

} // namespace

TEST(CallSizes, DefaultsMatchTheContract) {
  CallSizes sizes = sizesOf(3, 10);
  ASSERT_TRUE(place(sizes, {.keyStart = 100}));
  EXPECT_EQ(sizes.queryStart, 107);
  EXPECT_EQ(sizes.keyStart, 100);
  EXPECT_EQ(sizes.headStart, 0);
  EXPECT_EQ(sizes.headsTotal, 4);
}

// The number of heads of a larger model is required; head_start does not determine it.
TEST(CallSizes, HeadStartRequiresHeadsTotal) {
  EXPECT_EQ(
      errorOf(sizesOf(3, 10), {.headStart = 2}),
      "expected head_start and heads_total to include this call's 4 heads, found head_start 2 of "
      "heads_total 4, the default; pass heads_total");
  EXPECT_EQ(errorOf(sizesOf(3, 10), {.headStart = 2, .headsTotal = 6}), "");
}

TEST(CallSizes, PositionsAreLimited) {
  const int64_t limit = kPositionLimit;
  EXPECT_EQ(errorOf(sizesOf(3, 10), {.queryStart = limit - 3, .keyStart = limit - 10}), "");
  EXPECT_EQ(errorOf(sizesOf(3, 10), {.queryStart = -limit, .keyStart = -limit}), "");
  EXPECT_EQ(errorOf(sizesOf(3, 10), {.queryStart = limit - 2}),
            "q_start: expected positions in [-2^30, 2^30) for 3 queries, found the "
            "first at 1073741822");
  EXPECT_EQ(errorOf(sizesOf(3, 10), {.keyStart = limit - 9}),
            "k_start: expected positions in [-2^30, 2^30) for 10 keys, found the "
            "first at 1073741815");
  EXPECT_NE(errorOf(sizesOf(10, 3), {.keyStart = -limit}).find("q_start"), std::string::npos)
      << "the default is checked too";
}

TEST(CallSizes, QueriesAndKeysAreNotTooFarApart) {
  const int64_t last = kPositionLimit - (int64_t(1) << 16) - 3 + 1;
  EXPECT_EQ(errorOf(sizesOf(3, 10), {.queryStart = last, .keyStart = -kPositionLimit}), "");
  EXPECT_EQ(
      errorOf(sizesOf(3, 10), {.queryStart = last + 1, .keyStart = -kPositionLimit}),
      "q_start, k_start: expected queries and keys at most 2^31 - 2^16 apart, found 2147418113");
  EXPECT_NE(errorOf(sizesOf(3, 10), {.queryStart = -kPositionLimit, .keyStart = last}), "");
  EXPECT_EQ(errorOf(sizesOf(0, 10), {.queryStart = last + 1, .keyStart = -kPositionLimit}), "");
}

// No input overflows before the check that reports it (the sanitizers verify this).
TEST(CallSizes, AnyValueIsRejectedOrFits) {
  const int64_t numbers[] = {kLeast, kLeast + 1,         -kPositionLimit - 1, -1,
                             0,      kPositionLimit + 1, kMost - 1,           kMost};
  for (int64_t number : numbers) {
    const bool isPlace = number == -1 || number == 0;
    EXPECT_EQ(errorOf(sizesOf(3, 10), {.queryStart = number}).empty(), isPlace) << number;
    EXPECT_EQ(errorOf(sizesOf(3, 10), {.keyStart = number}).empty(), isPlace) << number;
    EXPECT_EQ(errorOf(sizesOf(3, 10), {.headStart = number}).empty(), number == 0) << number;
    EXPECT_FALSE(errorOf(sizesOf(3, 10), {.headsTotal = number}).empty()) << number;
    EXPECT_FALSE(errorOf(sizesOf(3, 10), {.headStart = number, .headsTotal = number}).empty());
    EXPECT_EQ(errorOf(sizesOf(3, number), {}).empty(), number == 0) << number;
    EXPECT_EQ(errorOf(sizesOf(number, 10), {}).empty(), number == 0) << number;
    EXPECT_EQ(errorOf({number, 4, 2, 3, 10}, {}).empty(), number == 0) << number;
    EXPECT_FALSE(errorOf({1, number, 3, 3, 10}, {}).empty() && number) << number;
    EXPECT_FALSE(errorOf({1, 4, number, 3, 10}, {}).empty()) << number;
  }
  EXPECT_EQ(errorOf({1, 0, 0, 3, 10}, {}), "");
  EXPECT_EQ(errorOf({1, 3, 2, 3, 10}, {}),
            "expected the query heads to be a multiple of the key heads, found 3 query heads and 2 "
            "key heads");
}
