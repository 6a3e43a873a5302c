//===- BandedBlocksTest.cpp - blocks that meet, against all pairs ---------===//
#include "dialect/Math/BandedBlocks.h"

#include <gtest/gtest.h>

using namespace pe::math;

namespace {

using Blocks = BandedBlocks<int64_t>;

/// The definition: whether the two blocks have a pair that exists and is kept.
bool meet(const Blocks &blocks, int64_t rowBlock, int64_t columnBlock) {
  auto isInside = [](const BlockedSide<int64_t> &side, int64_t number, int64_t element) {
    return side.begin <= element && element < side.end && element / side.block == number;
  };
  for (int64_t r = rowBlock * blocks.rows.block; r < (rowBlock + 1) * blocks.rows.block; ++r)
    for (int64_t c = columnBlock * blocks.columns.block;
         c < (columnBlock + 1) * blocks.columns.block; ++c)
      if (isInside(blocks.rows, rowBlock, r) && isInside(blocks.columns, columnBlock, c) &&
          (!blocks.lower || r + *blocks.lower <= c) && (!blocks.upper || c < r + *blocks.upper))
        return true;
  return false;
}

int64_t blocksOf(const BlockedSide<int64_t> &side) {
  return (side.end + side.block - 1) / side.block;
}

void expectExact(const Blocks &blocks) {
  const int64_t rowBlocks = blocksOf(blocks.rows), columnBlocks = blocksOf(blocks.columns);
  for (int64_t row = 0; row < rowBlocks; ++row) {
    const Interval<int64_t> columns = blocks.columnBlocksOf(row);
    EXPECT_LE(0, columns.begin);
    EXPECT_LE(columns.begin, columns.end);
    EXPECT_LE(columns.end, std::max(columnBlocks, columns.begin));
    for (int64_t column = 0; column < columnBlocks; ++column) {
      const Interval<int64_t> rows = blocks.rowBlocksOf(column);
      EXPECT_LE(rows.begin, rows.end);
      const bool meets = meet(blocks, row, column);
      EXPECT_EQ(columns.begin <= column && column < columns.end, meets) << row << ", " << column;
      EXPECT_EQ(rows.begin <= row && row < rows.end, meets) << row << ", " << column;
    }
  }
}

/// Every band of ends in [-most, most + 1], or without an end; `shift` moves both (the starts).
template <typename Fn> void eachBand(int64_t most, Fn body) {
  std::vector<std::optional<int64_t>> ends = {std::nullopt};
  for (int64_t end = -most; end <= most + 1; ++end)
    ends.push_back(end);
  for (const auto &lower : ends)
    for (const auto &upper : ends)
      body(lower, upper);
}

TEST(BandedBlocks, BothDirectionsAreThePairs) {
  int64_t cases = 0;
  for (int64_t rowBlock : {1, 2, 3, 4})
    for (int64_t columnBlock : {1, 2, 3})
      for (int64_t rows : {0, 1, 2, 5, 7})
        for (int64_t firstRow : {0, 1, 4, 9}) // rows before position 0 keep nothing
          for (int64_t columns : {0, 1, 2, 5, 7})
            eachBand(8, [&](auto lower, auto upper) {
              SCOPED_TRACE(testing::Message()
                           << "blocks " << rowBlock << " x " << columnBlock << ", rows " << firstRow
                           << " to " << rows << ", columns " << columns << ", band "
                           << lower.value_or(-999) << " to " << upper.value_or(999));
              const bool keepsSomething = !lower || !upper || *lower < *upper;
              expectExact({lower,
                           upper,
                           keepsSomething,
                           {firstRow, rows, rowBlock},
                           {0, columns, columnBlock}});
              ++cases;
            });
  EXPECT_EQ(cases, 4 * 3 * 5 * 4 * 5 * 19 * 19);
}

/// The same with ends far away: starts of queries and keys that have nothing to do with each other.
TEST(BandedBlocks, FarBands) {
  for (int64_t away : {int64_t(1) << 30, -(int64_t(1) << 30)})
    for (int64_t width : {1, 5})
      expectExact({away, away + width, true, {0, 7, 2}, {0, 7, 3}});
}

TEST(BandedBlocks, ABandThatKeepsNothingIsNotVisited) {
  // The hull of rows 0 to 3 under 0 <= c - r < 0 is not empty; what they keep is.
  const Blocks blocks{0, 0, false, {0, 8, 4}, {0, 8, 2}};
  for (int64_t n = 0; n < 2; ++n)
    EXPECT_EQ(blocks.columnBlocksOf(n).begin, blocks.columnBlocksOf(n).end);
  for (int64_t n = 0; n < 4; ++n)
    EXPECT_EQ(blocks.rowBlocksOf(n).begin, blocks.rowBlocksOf(n).end);
}

} // namespace
