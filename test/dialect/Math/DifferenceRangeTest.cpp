//===- DifferenceRangeTest.cpp - Random masks against their definition -----===//
//
// A random mask is a tree of causal masks, windows, `both` and `either`. Its range must contain
// every pair that the tree keeps and, if it is exact, no others. Its conversion to intervals of
// columns in 32-bit arithmetic, as in GPU kernels, must be correct.
//
//===----------------------------------------------------------------------===//
#include "dialect/Math/DifferenceRange.h"
#include "dialect/Math/KeptPairs.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace mlir::tile;
using mlir::pe::DifferenceRange;

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

/// A mask as its range and as its definition for one difference.
struct Drawn {
  DifferenceRange range;
  std::function<bool(int64_t)> keeps;
};

class Draw {
public:
  explicit Draw(uint64_t seed) : random(seed) {}

  int64_t below(int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random);
  }

  /// Draws small bounds, for which masks interact, and bounds near the limits of 31, 32 and 64
  /// bits.
  int64_t bound() {
    const int64_t edges[] = {1, int64_t(1) << 30, int64_t(1) << 31, int64_t(1) << 32, kLargest - 3};
    return below(3) ? 1 + below(12) : edges[below(5)] + below(4);
  }

  Drawn leaf() {
    switch (below(6)) {
    case 0: { // an arbitrary range, which no current mask has but an op could; unions have gaps
      const int64_t first = below(60) - 30, last = first + below(9) - 1;
      return {{first, last}, [=](int64_t d) { return first <= d && d <= last; }};
    }
    case 1:
      return {DifferenceRange::atLeast(0), [](int64_t d) { return d >= 0; }};
    case 2:
      return {DifferenceRange::atLeast(1), [](int64_t d) { return d >= 1; }};
    default:
      std::optional<int64_t> left, right;
      if (below(3))
        left = bound();
      if (!left || below(2))
        right = bound();
      return {DifferenceRange::window(left, right),
              [=](int64_t d) { return (!left || d < *left) && (!right || -d < *right); }};
    }
  }

  Drawn mask(int depth) {
    if (depth == 0 || !below(4))
      return leaf();
    Drawn a = mask(depth - 1), b = mask(depth - 1);
    if (below(2))
      return {DifferenceRange::both(a.range, b.range),
              [=](int64_t d) { return a.keeps(d) && b.keeps(d); }};
    return {DifferenceRange::either(a.range, b.range),
            [=](int64_t d) { return a.keeps(d) || b.keeps(d); }};
  }

private:
  std::mt19937_64 random;
};

/// Returns the smallest and largest differences of positions, and all near a possible mask bound.
std::vector<int64_t> differences() {
  std::vector<int64_t> all;
  for (int64_t d = -40; d <= 40; ++d)
    for (int64_t center : {int64_t(0), int64_t(1) << 30, -(int64_t(1) << 30)})
      all.push_back(center + d);
  for (int64_t d = 0; d < 8; ++d)
    for (int64_t sign : {-1, 1})
      all.push_back(sign * (DifferenceRange::kFarthest - d));
  return all;
}

TEST(DifferenceRange, RandomMasksMatchTheirDefinition) {
  Draw draw(1);
  int exact = 0, inexact = 0;
  for (int n = 0; n < 20000; ++n) {
    Drawn mask = draw.mask(3);
    const DifferenceRange range = mask.range, bounded = range.ofPositions();
    (range.exact ? exact : inexact)++;
    for (int64_t d : differences()) {
      if (mask.keeps(d))
        ASSERT_TRUE(range.contains(d)) << n << ": " << d;
      if (range.exact)
        ASSERT_EQ(range.contains(d), mask.keeps(d)) << n << ": " << d;
      ASSERT_EQ(bounded.contains(d), range.contains(d)) << n << ": " << d;
    }
  }
  EXPECT_GT(exact, 10000);
  EXPECT_GT(inexact, 100);
}

TEST(DifferenceRange, UnionIsExactWhereOnePartFillsIt) {
  DifferenceRange some = {.min = 2, .max = 5, .exact = false};
  DifferenceRange hull = DifferenceRange::either(DifferenceRange::atLeast(0), some);
  EXPECT_TRUE(hull.exact);
  EXPECT_EQ(hull.min, 0);
  EXPECT_FALSE(DifferenceRange::either(DifferenceRange::atLeast(3), some).exact);
}

/// An int32_t that checks its additions and subtractions for overflow.
struct Checked {
  int32_t value;
  Checked(int64_t v) : value(static_cast<int32_t>(v)) {
    EXPECT_EQ(value, v) << "does not fit 32 bits";
  }
  friend Checked operator+(Checked a, Checked b) { return int64_t(a.value) + b.value; }
  friend Checked operator-(Checked a, Checked b) { return int64_t(a.value) - b.value; }
  friend Checked minOf(Checked a, Checked b) { return a.value < b.value ? a : b; }
  friend Checked maxOf(Checked a, Checked b) { return a.value < b.value ? b : a; }
};

TEST(DifferenceRange, IntervalsStayIn32Bits) {
  constexpr int64_t kRows = 5, kColumns = 6, kFar = (int64_t(1) << 30) - 8;
  Draw draw(2);
  for (int n = 0; n < 20000; ++n) {
    const DifferenceRange range = draw.mask(2).range.ofPositions();
    MaskBand band;
    if (range.max != DifferenceRange::kUnboundedMax)
      band.lower = -range.max;
    if (range.min != DifferenceRange::kUnboundedMin)
      band.upper = 1 - range.min;
    const int64_t starts[] = {0, 3, -2, kFar, -kFar, kFar / 2};
    const int64_t rowStart = starts[draw.below(6)], columnStart = starts[draw.below(6)];
    // Computed as in a 32-bit lowering: far ends are clamped to the bounds of any call.
    auto fromStarts = [&](std::optional<int64_t> end) -> std::optional<Checked> {
      constexpr int64_t kFarthest = int64_t(1) << 30;
      if (!end)
        return std::nullopt;
      return Checked(std::clamp(rowStart - columnStart + *end, -kFarthest, kFarthest));
    };
    const KeptPairs<Checked> mask{fromStarts(band.lower),
                                  fromStarts(band.upper),
                                  band.keepsSomething(),
                                  {std::max<int64_t>(0, -rowStart), kRows},
                                  {0, kColumns}};
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t c = 0; c < kColumns; ++c) {
        const int64_t i = rowStart + r, j = columnStart + c;
        const bool keeps = i >= 0 && range.contains(i - j);
        const bool inside = r >= mask.rows.begin.value && mask.firstColumn(r).value <= c &&
                            c < mask.endColumn(r).value;
        ASSERT_EQ(inside, keeps) << n << ": " << i << ", " << j;
        auto rows = mask.rowsOfAny(c, c + 1);
        ASSERT_EQ(rows.begin.value <= r && r < rows.end.value, keeps)
            << n << ": " << i << ", " << j;
      }
  }
}

} // namespace
