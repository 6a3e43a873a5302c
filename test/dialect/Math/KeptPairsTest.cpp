//===- KeptPairsTest.cpp - Kept pairs against all pairs -------------------===//
#include "dialect/Math/KeptPairs.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

using namespace mlir::tile;

namespace {

using Blocks = KeptPairs<int64_t>;

bool keeps(const Blocks &pairs, int64_t r, int64_t c) {
  return pairs.rows.begin <= r && r < pairs.rows.end && pairs.columns.begin <= c &&
         c < pairs.columns.end && (!pairs.lower || r + *pairs.lower <= c) &&
         (!pairs.upper || c < r + *pairs.upper);
}

/// Returns true if the two blocks have a pair that exists and is kept, by definition.
bool meet(const Blocks &blocks, int64_t rowBlock, int64_t columnBlock) {
  for (int64_t r = rowBlock * blocks.rows.block; r < (rowBlock + 1) * blocks.rows.block; ++r)
    for (int64_t c = columnBlock * blocks.columns.block;
         c < (columnBlock + 1) * blocks.columns.block; ++c)
      if (keeps(blocks, r, c))
        return true;
  return false;
}

int64_t blocksOf(const BlockedSide<int64_t> &side) {
  return (side.end + side.block - 1) / side.block;
}

template <typename Pairs> void expectExact(const Pairs &blocks) {
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

/// Expects that the visitors of a block are numbered from an end without gaps, so that no visitor
/// waits forever.
template <typename Pairs> void expectTurns(const Pairs &blocks) {
  const int64_t rowBlocks = blocksOf(blocks.rows), columnBlocks = blocksOf(blocks.columns);
  for (const bool descends : {false, true}) {
    auto nth = [&](int64_t n, int64_t count) { return descends ? count - 1 - n : n; };
    for (int64_t column = 0; column < columnBlocks; ++column) {
      int64_t turn = 0;
      for (int64_t n = 0; n < rowBlocks; ++n)
        if (const int64_t row = nth(n, rowBlocks); meet(blocks, row, column))
          EXPECT_EQ(blocks.visitOfRowBlock(row, column, descends).number, turn++)
              << row << ", " << column;
      EXPECT_EQ(blocks.visitOfRowBlock(0, column, descends).total, turn) << column;
    }
    for (int64_t row = 0; row < rowBlocks; ++row) {
      int64_t turn = 0;
      for (int64_t n = 0; n < columnBlocks; ++n)
        if (const int64_t column = nth(n, columnBlocks); meet(blocks, row, column))
          EXPECT_EQ(blocks.visitOfColumnBlock(column, row, descends).number, turn++)
              << row << ", " << column;
      EXPECT_EQ(blocks.visitOfColumnBlock(0, row, descends).total, turn) << row;
    }
  }
}

/// Expects that every pair of a row block and its visited column blocks is on a diagonal of one of
/// its units. Column blocks are `perOwner` times smaller.
void expectUnits(const Blocks &blocks) {
  const int64_t perOwner = blocks.rows.block / blocks.columns.block;
  for (int64_t row = 0; row < blocksOf(blocks.rows); ++row) {
    const Interval<int64_t> visited = blocks.columnBlocksOf(row);
    const Interval<int64_t> units = diagonalUnitsOf(visited, perOwner);
    if (visited.begin == visited.end) {
      EXPECT_EQ(units.begin, units.end);
      continue;
    }
    // Unit u ends with the diagonal of the last row and the last column of block u.
    const int64_t lastRow = (row + 1) * blocks.rows.block - 1;
    auto unitOf = [&](int64_t r, int64_t c) { return (c - r + lastRow) / blocks.columns.block; };
    int64_t first = INT64_MAX, last = 0;
    for (int64_t r = row * blocks.rows.block; r <= lastRow; ++r)
      for (int64_t c = visited.begin * blocks.columns.block; c < visited.end * blocks.columns.block;
           ++c) {
        first = std::min(first, unitOf(r, c));
        last = std::max(last, unitOf(r, c));
      }
    EXPECT_LE(units.begin, first);
    EXPECT_GE(units.end, last + 1);
    EXPECT_LE(units.end, last + 2); // the diagonal after a complete unit has no pair
  }
}

/// Expects the same for blocks in descending order, whose units are `perOwner` lower. Unit u begins
/// with the diagonal of the first row and the first column of block u.
void expectDescendingUnits(const Blocks &blocks) {
  const int64_t perOwner = blocks.rows.block / blocks.columns.block;
  for (int64_t row = 0; row < blocksOf(blocks.rows); ++row) {
    const Interval<int64_t> visited = blocks.columnBlocksOf(row);
    Interval<int64_t> units = diagonalUnitsOf(visited, perOwner);
    if (visited.begin == visited.end)
      continue;
    units.begin -= perOwner, units.end -= perOwner;
    const int64_t firstRow = row * blocks.rows.block;
    // Shifted by an owner block, so that the dividend is not negative.
    auto unitOf = [&](int64_t r, int64_t c) {
      return (c - r + firstRow + blocks.rows.block) / blocks.columns.block - perOwner;
    };
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int64_t r = firstRow; r < firstRow + blocks.rows.block; ++r)
      for (int64_t c = visited.begin * blocks.columns.block; c < visited.end * blocks.columns.block;
           ++c) {
        first = std::min(first, unitOf(r, c));
        last = std::max(last, unitOf(r, c));
      }
    EXPECT_LE(units.begin, first);
    EXPECT_GE(units.begin, first - 1); // the diagonal before a complete unit has no pair
    EXPECT_EQ(units.end, last + 1);
  }
}

/// Checks the columns of rows and the rows of columns element by element.
template <typename Pairs> void expectElements(const Pairs &pairs) {
  for (int64_t first = pairs.rows.begin; first < pairs.rows.end; ++first)
    for (int64_t last = first; last < pairs.rows.end; ++last) {
      const Interval<int64_t> any = pairs.columnsOfAny(first, last);
      const Interval<int64_t> all = pairs.columnsOfAll(first, last);
      for (int64_t c = pairs.columns.begin; c < pairs.columns.end; ++c) {
        bool some = false, every = true;
        for (int64_t r = first; r <= last; ++r) {
          some |= keeps(pairs, r, c);
          every &= keeps(pairs, r, c);
        }
        // The hull contains all columns that the rows keep. For a single row it is exact.
        EXPECT_LE(some, any.begin <= c && c < any.end) << first << ".." << last << ", " << c;
        EXPECT_TRUE(first != last || some == (any.begin <= c && c < any.end)) << first << ", " << c;
        EXPECT_EQ(every, all.begin <= c && c < all.end) << first << ".." << last << ", " << c;
      }
    }
  for (int64_t begin = pairs.columns.begin; begin < pairs.columns.end; ++begin)
    for (int64_t end = begin + 1; end <= pairs.columns.end; ++end) {
      const Interval<int64_t> rows = pairs.rowsOfAny(begin, end);
      for (int64_t r = pairs.rows.begin; r < pairs.rows.end; ++r) {
        bool touches = false;
        for (int64_t c = begin; c < end; ++c)
          touches |= keeps(pairs, r, c);
        const bool isIn = rows.begin <= r && r < rows.end;
        // An empty band still has a hull.
        EXPECT_TRUE(pairs.keepsSomething ? touches == isIn : touches <= isIn)
            << begin << ".." << end << ", " << r;
      }
    }
}

/// Returns all bands with ends in [-most, most + 1] or unbounded. `shift` moves both ends, as
/// starts do.
template <typename Fn> void eachBand(int64_t most, Fn body) {
  std::vector<std::optional<int64_t>> ends = {std::nullopt};
  for (int64_t end = -most; end <= most + 1; ++end)
    ends.push_back(end);
  for (const auto &lower : ends)
    for (const auto &upper : ends)
      body(lower, upper);
}

TEST(KeptPairs, BothDirectionsAreThePairs) {
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
              const bool keepsSomething = MaskBand{lower, upper}.keepsSomething();
              expectExact(Blocks{lower,
                                 upper,
                                 keepsSomething,
                                 {firstRow, rows, rowBlock},
                                 {0, columns, columnBlock}});
              ++cases;
            });
  EXPECT_EQ(cases, 4 * 3 * 5 * 4 * 5 * 19 * 19);
}

TEST(KeptPairs, TurnsAndUnits) {
  for (int64_t perOwner : {1, 2, 4})
    for (int64_t columnBlock : {1, 2, 3})
      for (int64_t rows : {0, 1, 5, 13})
        for (int64_t firstRow : {0, 3})
          for (int64_t columns : {0, 1, 7})
            eachBand(8, [&](auto lower, auto upper) {
              SCOPED_TRACE(testing::Message()
                           << perOwner << " blocks of " << columnBlock << ", rows " << firstRow
                           << " to " << rows << ", columns " << columns << ", band "
                           << lower.value_or(-999) << " to " << upper.value_or(999));
              const Blocks blocks{lower,
                                  upper,
                                  MaskBand{lower, upper}.keepsSomething(),
                                  {firstRow, rows, perOwner * columnBlock},
                                  {0, columns, columnBlock}};
              expectTurns(blocks);
              expectUnits(blocks);
              expectDescendingUnits(blocks);
            });
}

TEST(KeptPairs, RowsAndColumns) {
  for (int64_t firstRow : {0, 1, 4, 9})
    eachBand(9, [&](auto lower, auto upper) {
      SCOPED_TRACE(testing::Message() << "rows from " << firstRow << ", band "
                                      << lower.value_or(-999) << " to " << upper.value_or(999));
      expectElements(
          Blocks{lower, upper, MaskBand{lower, upper}.keepsSomething(), {firstRow, 7}, {0, 8}});
    });
}

/// The same with far ends: unrelated starts of queries and keys.
TEST(KeptPairs, FarBands) {
  for (int64_t away : {int64_t(1) << 30, -(int64_t(1) << 30)})
    for (int64_t width : {1, 5})
      expectExact(Blocks{away, away + width, true, {0, 7, 2}, {0, 7, 3}});
}

TEST(KeptPairs, ABandThatKeepsNothingIsNotVisited) {
  // The hull of rows 0 to 3 under 0 <= c - r < 0 is not empty, although they keep no column.
  const Blocks blocks{0, 0, false, {0, 8, 4}, {0, 8, 2}};
  for (int64_t n = 0; n < 2; ++n)
    EXPECT_EQ(blocks.columnBlocksOf(n).begin, blocks.columnBlocksOf(n).end);
  for (int64_t n = 0; n < 4; ++n)
    EXPECT_EQ(blocks.rowBlocksOf(n).begin, blocks.rowBlocksOf(n).end);
}

//===- Tests of the checks --------------------------------------------------===//

/// Relations with a mistake: a block too few, a block too many, a turn without a visitor.
struct LateColumns : Blocks {
  Interval<int64_t> columnBlocksOf(int64_t n) const {
    auto [begin, end] = Blocks::columnBlocksOf(n);
    return {std::min(begin + 1, end), end};
  }
};
struct ShortRows : Blocks {
  Interval<int64_t> rowBlocksOf(int64_t n) const {
    auto [begin, end] = Blocks::rowBlocksOf(n);
    return {begin, std::max(begin, end - 1)};
  }
};
struct WideColumns : Blocks {
  Interval<int64_t> columnBlocksOf(int64_t n) const {
    auto [begin, end] = Blocks::columnBlocksOf(n);
    return {begin, end + 1};
  }
};
struct DroppedTurn : Blocks {
  Visit<int64_t> visitOfRowBlock(int64_t row, int64_t column, bool descends) const {
    auto [number, total] = Blocks::visitOfRowBlock(row, column, descends);
    return {number, std::max<int64_t>(total - 1, 0)};
  }
};
struct TurnsFromOne : Blocks {
  Visit<int64_t> visitOfColumnBlock(int64_t column, int64_t row, bool descends) const {
    auto [number, total] = Blocks::visitOfColumnBlock(column, row, descends);
    return {number + 1, total};
  }
};
struct LateElements : Blocks {
  int64_t endColumn(int64_t r) const { return Blocks::endColumn(r) - 1; }
  Interval<int64_t> columnsOfAny(int64_t first, int64_t last) const {
    return {firstColumn(first), endColumn(last)};
  }
};

template <typename Check> int failuresOf(Check check) {
  testing::TestPartResultArray results;
  testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
  check();
  return results.size();
}

TEST(KeptPairs, MistakesAreDetected) {
  const Blocks causal{std::nullopt, 1, true, {0, 7, 2}, {0, 7, 1}};
  auto exact = [&](auto pairs) {
    static_cast<Blocks &>(pairs) = causal;
    return failuresOf([&] { expectExact(pairs); });
  };
  auto turns = [&](auto pairs) {
    static_cast<Blocks &>(pairs) = causal;
    return failuresOf([&] { expectTurns(pairs); });
  };
  auto elements = [&](auto pairs) {
    static_cast<Blocks &>(pairs) = causal;
    return failuresOf([&] { expectElements(pairs); });
  };
  EXPECT_EQ(exact(Blocks()), 0);
  EXPECT_EQ(turns(Blocks()), 0);
  EXPECT_EQ(elements(Blocks()), 0);
  EXPECT_GT(exact(LateColumns()), 0);
  EXPECT_GT(exact(ShortRows()), 0);
  EXPECT_GT(exact(WideColumns()), 0);
  EXPECT_GT(turns(DroppedTurn()), 0);
  EXPECT_GT(turns(TurnsFromOne()), 0);
  EXPECT_GT(elements(LateElements()), 0);
}

} // namespace
