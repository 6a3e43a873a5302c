//===- ProductsTest.cpp - float32 products against sums in double ---------===//

#include "runtime/train/blas/Products.h"
#include "runtime/core/Random.h"
#include "runtime/train/blas/Blas.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace {

using namespace pe;

/// Rows of a matrix with a stride of `pitch`. The padding between them must not change.
struct Rows {
  int64_t rows, cols, pitch;
  std::vector<float> values;

  Rows(int64_t rows, int64_t cols, int64_t gap, uint64_t seed)
      : rows(rows), cols(cols), pitch(cols + gap), values(rows * (cols + gap)) {
    Random random(seed, "products");
    for (float &value : values)
      value = static_cast<float>(random.normal());
  }
  float at(int64_t row, int64_t col) const { return values[row * pitch + col]; }
};

/// Checks that `after` contains sums of `terms` terms, plus `before` if `adds`. `term` computes a
/// term in double.
template <typename Term>
void expectSums(const Rows &before, const Rows &after, bool adds, int64_t terms, Term term) {
  for (int64_t row = 0; row < after.rows; ++row)
    for (int64_t col = 0; col < after.pitch; ++col) {
      if (col >= after.cols) {
        ASSERT_EQ(after.at(row, col), before.at(row, col)) << "between rows, " << row << " " << col;
        continue;
      }
      double sum = adds ? before.at(row, col) : 0.0, size = std::abs(sum);
      for (int64_t i = 0; i < terms; ++i) {
        sum += term(row, i, col);
        size += std::abs(term(row, i, col));
      }
      const double bound = std::numeric_limits<float>::epsilon() * (terms + 1.0) * size;
      ASSERT_NEAR(after.at(row, col), sum, bound) << row << " " << col;
    }
}

struct Size {
  int64_t m, n, k;
};

class Products : public testing::TestWithParam<Size> {};

TEST_P(Products, MatchDouble) {
  ASSERT_TRUE(blas::load());
  const auto [m, n, k] = GetParam();
  for (bool adds : {false, true}) {
    const Rows a(m, k, 3, 1), b(k, n, 5, 2), before(m, n, 7, 3);
    Rows c = before;
    blas::multiply(m, n, k, a.values.data(), a.pitch, b.values.data(), b.pitch, adds,
                   c.values.data(), c.pitch);
    expectSums(before, c, adds, k, [&](int64_t row, int64_t i, int64_t col) {
      return double(a.at(row, i)) * b.at(i, col);
    });
  }
}

TEST_P(Products, OfATransposeMatchDouble) {
  ASSERT_TRUE(blas::load());
  const auto [m, n, k] = GetParam();
  for (bool adds : {false, true}) {
    const Rows a(k, m, 3, 1), b(k, n, 5, 2), before(m, n, 7, 3);
    Rows c = before;
    blas::multiplyTransposed(m, n, k, a.values.data(), a.pitch, b.values.data(), b.pitch, adds,
                             c.values.data(), c.pitch);
    expectSums(before, c, adds, k, [&](int64_t row, int64_t i, int64_t col) {
      return double(a.at(i, row)) * b.at(i, col);
    });
  }
}

TEST_P(Products, WithPanelsMatchWeights) {
  ASSERT_TRUE(blas::load());
  const auto [m, n, k] = GetParam();
  const Rows x(m, k, 0, 1), weights(n, k, 0, 2);
  const blas::PanelShape shape{.outputs = n, .inputs = k};
  std::vector<float> panels(n * k, std::nanf(""));
  for (int64_t panel = shape.panels(); panel-- > 0;) // in any order, by any thread
    blas::packPanels(shape, weights.values.data(), panel, panel + 1, panels.data());
  for (bool adds : {false, true}) {
    const Rows before(m, n, 7, 3);
    Rows y = before;
    blas::multiplyPanels(shape, x.values.data(), m, panels.data(), adds, y.values.data(), y.pitch);
    expectSums(before, y, adds, k, [&](int64_t row, int64_t i, int64_t col) {
      return double(x.at(row, i)) * weights.at(col, i);
    });
  }
}

// Odd sizes, one row, one column, more than one block of columns and of the reduction, and empty
// sizes.
INSTANTIATE_TEST_SUITE_P(Sizes, Products,
                         testing::Values(Size{1, 1, 1}, Size{3, 5, 7}, Size{256, 64, 64},
                                         Size{37, 96, 64}, Size{1, 300, 33}, Size{65, 1, 600},
                                         Size{17, 270, 520}, Size{130, 129, 1100}, Size{4, 70, 0},
                                         Size{0, 8, 8}, Size{8, 0, 8}, Size{2, 2049, 40}),
                         [](const auto &info) {
                           const Size &size = info.param;
                           return std::to_string(size.m) + "x" + std::to_string(size.n) + "x" +
                                  std::to_string(size.k);
                         });

TEST(Products, OverwriteUnreadValuesAndPropagateNonFiniteOnes) {
  ASSERT_TRUE(blas::load());
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> a = {1, 2, nan, 4}, b = {1, 0, 0, infinity}, c(4, nan);
  blas::multiply(2, 2, 2, a.data(), 2, b.data(), 2, /*adds=*/false, c.data(), 2);
  EXPECT_EQ(c[0], 1);
  EXPECT_EQ(c[1], infinity);
  EXPECT_TRUE(std::isnan(c[2]) && std::isnan(c[3]));
}

} // namespace
