//===- DistanceLayoutTest.cpp - Reflections of rows along the distance ----===//
#include "dialect/Math/DistanceLayout.h"

#include <gtest/gtest.h>
#include <set>

using namespace pe::math;

namespace {

constexpr ReflectedAxis kAxes[] = {ReflectedAxis::Lanes, ReflectedAxis::Halves};

/// Returns the position of a lane's element in half `half` of its tile, along the reflected axis
/// and along the axis of rows.
std::pair<int64_t, int64_t> placeOf(ReflectedAxis axis, int64_t lane, int64_t half) {
  const int64_t g = lane / 4, across = lane % 4 * 2 + half;
  return axis == ReflectedAxis::Lanes ? std::pair(g, across) : std::pair(across, g);
}

/// A lane receives the element of its row at the reflected distance number or column.
TEST(DistanceLayout, LanesTakeTheReflectedElement) {
  for (ReflectedAxis axis : kAxes)
    for (int64_t columns : {16, 32, 64})
      for (int64_t row : {0, 1})
        for (int64_t to = 0; to < columns / 8; ++to)
          for (int64_t lane = 0; lane < 32; ++lane)
            for (int64_t half = 0; half < 2; ++half) {
              const Reflection reflection{axis};
              auto [x, f] = placeOf(axis, lane, half);
              const int64_t source = reflection.sourceLane(lane, half);
              const int64_t offered = reflection.offeredHalf(source, half);
              const bool isNext =
                  reflection.offeredPlace(source, half) < reflection.offeredRow(source, half);
              auto [y, sourceRow] = placeOf(axis, source, offered);
              EXPECT_EQ(sourceRow, f);
              const int64_t tile = Reflection::tileOf(row, to, columns, isNext);
              const DistanceBlock block{16, columns};
              EXPECT_EQ(tile * 8 + y, block.reflected(row * 8 + f, to * 8 + x));
              EXPECT_TRUE(tile >= 0 && tile < (columns + 16) / 8);
            }
}

/// In a shuffle, every lane is the source of exactly one lane.
TEST(DistanceLayout, EveryLaneIsASourceOnce) {
  for (ReflectedAxis axis : kAxes)
    for (int64_t half = 0; half < 2; ++half) {
      std::set<int64_t> sources;
      for (int64_t lane = 0; lane < 32; ++lane)
        sources.insert(Reflection{axis}.sourceLane(lane, half));
      EXPECT_EQ(sources.size(), 32u);
      EXPECT_TRUE(*sources.begin() == 0 && *sources.rbegin() == 31);
    }
}

TEST(DistanceLayout, BlocksMeetTheNumbersOfTheirDistances) {
  for (int64_t rows : {16, 32, 64, 128})
    for (int64_t columns : {16, 32, 64}) {
      const DistanceBlock block{rows, columns};
      std::set<std::pair<int64_t, int64_t>> met; // tiles of rows and numbers
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t n = i - j + columns - 1;
          EXPECT_EQ(block.reflected(i, j), n);
          EXPECT_EQ(block.reflected(i, n), j);
          EXPECT_TRUE(n >= 0 && n < block.numbers());
          const int64_t first = block.firstOf(i / 16 * 16, j / 16 * 16);
          EXPECT_TRUE(first >= 0 && n >= first && n < first + 31);
          met.insert({i / 16, n / 16});
        }
      for (int64_t row = 0; row < rows / 16; ++row)
        for (int64_t number = 0; number < block.numbers() / 16; ++number) {
          const int64_t behind = block.behind(row, number);
          EXPECT_EQ(behind >= 0 && behind <= block.mostBehind(), met.count({row, number}) == 1);
          // If it is not a column, it is at most 16 away from one.
          for (int64_t i = row * 16; i < row * 16 + 16; ++i)
            for (int64_t n = number * 16; met.count({row, number}) && n < number * 16 + 16; ++n)
              EXPECT_TRUE(block.reflected(i, n) >= -16 && block.reflected(i, n) < columns + 16);
        }
    }
}

} // namespace
