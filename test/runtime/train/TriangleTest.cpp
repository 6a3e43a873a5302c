//===- TriangleTest.cpp - Triangular solves by matrix products ------------===//
//
// Solves of every kind must invert products, for sizes around the edges of blocks and for
// submatrices.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/reinit/Triangle.h"
#include "Matrices.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::test;
using Transpose = blas::Transpose;
using reinit::Triangle;

namespace {

constexpr double kUntouched = 7;

/// Returns a well-conditioned upper triangular matrix with other values in the lower triangle.
Matrix triangular(int64_t n) {
  Matrix r = gaussian(n, n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      r.at(i, j) = i == j ? 2 + std::abs(r.at(i, j)) : r.at(i, j) / std::sqrt(n);
  return r;
}

Matrix upperOf(const Matrix &r) {
  Matrix upper = r;
  for (int64_t i = 0; i < r.rows; ++i)
    for (int64_t j = 0; j < i; ++j)
      upper.at(i, j) = 0;
  return upper;
}

/// Stores the matrix as the left part of a wider one.
std::vector<double> widened(const Matrix &x, int64_t pitch) {
  std::vector<double> wide(x.rows * pitch, kUntouched);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.cols; ++j)
      wide[i * pitch + j] = x.at(i, j);
  return wide;
}

TEST(Triangle, UndoesProducts) {
  ASSERT_TRUE(blas::load());
  for (int64_t n : {1, 5, 31, 32, 33, 64, 65, 97, 200})
    for (Transpose transpose : {Transpose::No, Transpose::Yes})
      for (bool right : {true, false}) {
        SCOPED_TRACE(std::to_string(n) + (right ? " right" : " left"));
        const Matrix r = triangular(n);
        const Matrix upper = upperOf(r),
                     op = transpose == Transpose::Yes ? test::transpose(upper) : upper;
        const Matrix x = right ? gaussian(7, n, 2) : gaussian(n, 7, 2);
        const int64_t pitchR = n + 3, pitchX = x.cols + 2;
        const std::vector<double> stored = widened(r, pitchR);
        std::vector<double> values = widened(right ? product(x, op) : product(op, x), pitchX);
        const Triangle triangle(n, stored.data(), pitchR);
        if (right)
          triangle.solveRight(x.rows, transpose, values.data(), pitchX);
        else
          triangle.solveLeft(x.cols, transpose, values.data(), pitchX);
        for (int64_t i = 0; i < x.rows; ++i) {
          for (int64_t j = 0; j < x.cols; ++j)
            ASSERT_NEAR(values[i * pitchX + j], x.at(i, j), 1e-11);
          ASSERT_EQ(values[i * pitchX + x.cols], kUntouched);
        }
      }
}

} // namespace
