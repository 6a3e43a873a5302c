//===- MaskIntervalsTest.cpp - mask intervals against the masks' definitions ===//
#include "dialect/Math/MaskIntervals.h"

#include <gtest/gtest.h>

using namespace pe::math;

namespace {

constexpr int64_t kRows = 11, kColumns = 13;

/// The definition: position j is kept for a query at i >= 0.
bool keeps(const MaskBand &band, int64_t i, int64_t j) {
  return i >= 0 && (!band.lower || j >= i + *band.lower) && (!band.upper || j < i + *band.upper);
}

struct Case {
  const char *name;
  MaskBand band;
};
const Case kCases[] = {{"none", MaskBand::none()},
                       {"causal", MaskBand::causal()},
                       {"strict", MaskBand::strictCausal()},
                       {"window", MaskBand::window(4, 1)},
                       {"two-sided window", MaskBand::window(3, 3)},
                       {"far window", MaskBand::window(40, 30)}};

template <typename Fn> void eachMask(Fn body) {
  for (const Case &c : kCases)
    for (int64_t rowStart : {-20, -3, 0, 2, 30})
      for (int64_t columnStart : {0, 1, 7}) {
        SCOPED_TRACE(testing::Message()
                     << c.name << " rows from " << rowStart << " columns from " << columnStart);
        body(MaskQuery<int64_t>{c.band, rowStart, columnStart, kColumns});
      }
}

bool keepsPair(const MaskQuery<int64_t> &mask, int64_t r, int64_t c) {
  return keeps(mask.band, mask.rowStart + r, mask.columnStart + c);
}

TEST(MaskIntervals, OneRow) {
  eachMask([](const MaskQuery<int64_t> &mask) {
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t c = 0; c < kColumns; ++c) {
        bool inside = r >= mask.firstRow() && mask.firstColumn(r) <= c && c < mask.endColumn(r);
        EXPECT_EQ(inside, keepsPair(mask, r, c)) << r << ", " << c;
      }
  });
}

TEST(MaskIntervals, BlocksOfRows) {
  eachMask([](const MaskQuery<int64_t> &mask) {
    for (int64_t first = mask.firstRow(); first < kRows; ++first)
      for (int64_t last = first; last < kRows; ++last)
        for (int64_t c = 0; c < kColumns; ++c) {
          bool some = false, every = true;
          for (int64_t r = first; r <= last; ++r) {
            some |= keepsPair(mask, r, c);
            every &= keepsPair(mask, r, c);
          }
          auto any = mask.any(first, last), full = mask.full(first, last);
          // The hull may hold more than what some row keeps, never less.
          EXPECT_LE(some, any.begin <= c && c < any.end);
          EXPECT_EQ(every, full.begin <= c && c < full.end) << first << ".." << last << ", " << c;
        }
  });
}

TEST(MaskIntervals, HullIsTight) {
  eachMask([](const MaskQuery<int64_t> &mask) {
    for (int64_t first = mask.firstRow(); first < kRows; ++first) {
      auto any = mask.any(first, first);
      for (int64_t c = any.begin; c < any.end; ++c)
        EXPECT_TRUE(keepsPair(mask, first, c)) << first << ", " << c;
    }
  });
}

TEST(MaskIntervals, RowsOfABlockOfColumns) {
  eachMask([](const MaskQuery<int64_t> &mask) {
    for (int64_t begin = 0; begin < kColumns; ++begin)
      for (int64_t end = begin + 1; end <= kColumns; ++end) {
        auto rows = mask.rowsTouching(begin, end, kRows);
        for (int64_t r = 0; r < kRows; ++r) {
          bool touches = false;
          for (int64_t c = begin; c < end; ++c)
            touches |= keepsPair(mask, r, c);
          EXPECT_EQ(touches, rows.begin <= r && r < rows.end) << begin << ".." << end << ", " << r;
        }
      }
  });
}

} // namespace
