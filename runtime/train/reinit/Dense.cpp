//===- Dense.cpp - Matrix arithmetic in fixed tiles -----------------------===//

#include "runtime/train/reinit/Dense.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/Triangle.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pe::reinit {
namespace {

using blas::Transpose;

/// Edge of a tile of a symmetric matrix, and of a block of a factorization.
constexpr int64_t kTile = 256;
/// Edge of a tile of a Gram matrix, whose columns are packed once per tile.
constexpr int64_t kGramTile = 384;
/// Rows of a strip: large enough for BLAS to be fast, small enough to share between threads.
constexpr int64_t kStrip = 192;

int64_t partsOf(int64_t size, int64_t part) { return (size + part - 1) / part; }
int64_t sizeOfPart(int64_t size, int64_t part, int64_t index) {
  return std::min(part, size - index * part);
}

using TileIndex = std::pair<int64_t, int64_t>;

/// Returns the tiles (i, j), i <= j, of the upper triangle from block `first` on, full tiles first.
std::vector<TileIndex> upperTiles(int64_t first, int64_t count) {
  std::vector<TileIndex> tiles;
  for (int64_t i = first; i < count; ++i)
    for (int64_t j = i + 1; j < count; ++j)
      tiles.emplace_back(i, j);
  for (int64_t i = first; i < count; ++i)
    tiles.emplace_back(i, i);
  return tiles;
}

} // namespace

template <typename T>
void gramUpper(ParallelFor &pool, int64_t m, int64_t n, const T *x, std::vector<T> &g) {
  g.resize(n * n);
  const std::vector<TileIndex> tiles = upperTiles(0, partsOf(n, kGramTile));
  parallelFor(pool, static_cast<int64_t>(tiles.size()), [&](int64_t item) {
    auto [i, j] = tiles[item];
    const int64_t row = i * kGramTile, col = j * kGramTile;
    const int64_t rows = sizeOfPart(n, kGramTile, i), cols = sizeOfPart(n, kGramTile, j);
    if (i == j)
      blas::gramUpper(m, cols, x + col, n, g.data() + row * n + col, n);
    else
      blas::gemm(rows, cols, m, blas::Operand<T>{x + row, n, Transpose::Yes},
                 blas::Operand<T>{x + col, n}, T(0), g.data() + row * n + col, n);
  });
}

void symmetricProduct(ParallelFor &pool, int64_t n, const float *a, const float *b, float *c) {
  const std::vector<TileIndex> tiles = upperTiles(0, partsOf(n, kTile));
  parallelFor(pool, static_cast<int64_t>(tiles.size()), [&](int64_t item) {
    const int64_t row = tiles[item].first * kTile, col = tiles[item].second * kTile;
    blas::gemm(std::min(kTile, n - row), std::min(kTile, n - col), n,
               blas::Operand<float>{a + row * n, n}, blas::Operand<float>{b + col, n}, 0.0f,
               c + row * n + col, n);
  });
}

template <typename T> void mirrorUpper(ParallelFor &pool, int64_t n, std::vector<T> &g) {
  // Blocks stay in the cache while they are written by columns.
  constexpr int64_t kEdge = 32;
  parallelFor(pool, partsOf(n, kEdge), [&](int64_t item) {
    const int64_t begin = item * kEdge, end = std::min(n, begin + kEdge);
    for (int64_t col = 0; col < end; col += kEdge)
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = col; j < std::min(i, col + kEdge); ++j)
          g[i * n + j] = g[j * n + i];
  });
}

template <typename T>
std::vector<T> multiply(ParallelFor &pool, int64_t m, int64_t n, int64_t k, const T *a,
                        const T *b) {
  std::vector<T> c(m * n);
  parallelFor(pool, partsOf(m, kStrip), [&](int64_t item) {
    const int64_t row = item * kStrip;
    blas::gemm(sizeOfPart(m, kStrip, item), n, k, blas::Operand<T>{a + row * k, k},
               blas::Operand<T>{b, n}, T(0), c.data() + row * n, n);
  });
  return c;
}

template <typename T>
std::vector<T> multiplyAdd(ParallelFor &pool, int64_t m, int64_t n, const T *x, T scale,
                           const T *b) {
  std::vector<T> c(m * n);
  parallelFor(pool, partsOf(m, kStrip), [&](int64_t item) {
    const int64_t begin = item * kStrip * n, rows = sizeOfPart(m, kStrip, item);
    for (int64_t i = begin; i < begin + rows * n; ++i)
      c[i] = scale * x[i];
    blas::gemm(rows, n, n, blas::Operand<T>{x + begin, n}, blas::Operand<T>{b, n}, T(1),
               c.data() + begin, n);
  });
  return c;
}

template <typename T> double spectralBound(int64_t n, const std::vector<T> &gram) {
  double squares = 0;
  std::vector<double> rowSums(n);
  for (int64_t i = 0; i < n; ++i) {
    const double diagonal = gram[i * n + i];
    squares += diagonal * diagonal;
    rowSums[i] += std::abs(diagonal);
    for (int64_t j = i + 1; j < n; ++j) {
      const double value = std::abs(static_cast<double>(gram[i * n + j]));
      squares += 2 * value * value;
      rowSums[i] += value;
      rowSums[j] += value;
    }
  }
  return std::min(std::sqrt(squares), *std::max_element(rowSums.begin(), rowSums.end()));
}

template void gramUpper(ParallelFor &, int64_t, int64_t, const float *, std::vector<float> &);
template void gramUpper(ParallelFor &, int64_t, int64_t, const double *, std::vector<double> &);
template void mirrorUpper(ParallelFor &, int64_t, std::vector<float> &);
template void mirrorUpper(ParallelFor &, int64_t, std::vector<double> &);
template std::vector<float> multiply(ParallelFor &, int64_t, int64_t, int64_t, const float *,
                                     const float *);
template std::vector<double> multiply(ParallelFor &, int64_t, int64_t, int64_t, const double *,
                                      const double *);
template std::vector<float> multiplyAdd(ParallelFor &, int64_t, int64_t, const float *, float,
                                        const float *);
template double spectralBound(int64_t, const std::vector<float> &);
template double spectralBound(int64_t, const std::vector<double> &);

Matrix transposed(ParallelFor &pool, int64_t rows, int64_t cols, const double *x) {
  constexpr int64_t kEdge = 32;
  Matrix result(rows * cols);
  parallelFor(pool, partsOf(cols, kEdge), [&](int64_t item) {
    const int64_t begin = item * kEdge, end = std::min(cols, begin + kEdge);
    for (int64_t row = 0; row < rows; row += kEdge)
      for (int64_t j = begin; j < end; ++j)
        for (int64_t i = row; i < std::min(rows, row + kEdge); ++i)
          result[j * rows + i] = x[i * cols + j];
  });
  return result;
}

bool choleskyUpper(ParallelFor &pool, int64_t n, Matrix &a) {
  const int64_t blocks = partsOf(n, kTile);
  for (int64_t k = 0; k < blocks; ++k) {
    const int64_t pivot = k * kTile, size = sizeOfPart(n, kTile, k);
    const double *corner = a.data() + pivot * n + pivot;
    if (!blas::choleskyUpper(size, a.data() + pivot * n + pivot, n))
      return false;
    if (k + 1 == blocks)
      break;
    const Triangle triangle(size, corner, n);
    parallelFor(pool, blocks - k - 1, [&](int64_t item) {
      const int64_t j = k + 1 + item;
      triangle.solveLeft(sizeOfPart(n, kTile, j), Transpose::Yes, a.data() + pivot * n + j * kTile,
                         n);
    });
    // Updates the trailing matrix: A_ij - R_ki^T R_kj. Tiles on the diagonal are updated entirely;
    // their lower triangles are never read.
    const std::vector<TileIndex> tiles = upperTiles(k + 1, blocks);
    parallelFor(pool, static_cast<int64_t>(tiles.size()), [&](int64_t item) {
      const int64_t row = tiles[item].first * kTile, col = tiles[item].second * kTile;
      blas::gemm(std::min(kTile, n - row), std::min(kTile, n - col), size,
                 blas::Operand<double>{a.data() + pivot * n + row, n, Transpose::Yes},
                 blas::Operand<double>{a.data() + pivot * n + col, n}, 1.0,
                 a.data() + row * n + col, n, -1.0);
    });
  }
  return true;
}

void addSolved(ParallelFor &pool, int64_t m, int64_t n, const Matrix &r, double direct,
               double inverse, Matrix &x) {
  const Triangle triangle(n, r.data(), n);
  parallelFor(pool, partsOf(m, kStrip), [&](int64_t item) {
    const int64_t rows = sizeOfPart(m, kStrip, item);
    double *strip = x.data() + item * kStrip * n;
    // x (R^T R)^-1 = (x R^-1) R^-T.
    Matrix solved(strip, strip + rows * n);
    triangle.solveRight(rows, Transpose::No, solved.data(), n);
    triangle.solveRight(rows, Transpose::Yes, solved.data(), n);
    for (int64_t i = 0; i < rows * n; ++i)
      strip[i] = direct * strip[i] + inverse * solved[i];
  });
}

void solveRight(ParallelFor &pool, int64_t m, int64_t n, const Matrix &r, Matrix &x) {
  const Triangle triangle(n, r.data(), n);
  parallelFor(pool, partsOf(m, kStrip), [&](int64_t item) {
    triangle.solveRight(sizeOfPart(m, kStrip, item), Transpose::No, x.data() + item * kStrip * n,
                        n);
  });
}

void solveLeft(ParallelFor &pool, int64_t n, const Matrix &r, Matrix &x) {
  const Triangle triangle(n, r.data(), n);
  parallelFor(pool, partsOf(n, kStrip), [&](int64_t item) {
    triangle.solveLeft(sizeOfPart(n, kStrip, item), Transpose::No, x.data() + item * kStrip, n);
  });
}

double deviationOfGram(int64_t n, const double *gram, double factor) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double diagonal = factor * gram[i * n + i] - 1;
    sum += diagonal * diagonal;
    double rest = 0;
    for (int64_t j = i + 1; j < n; ++j)
      rest += gram[i * n + j] * gram[i * n + j];
    sum += 2 * factor * factor * rest;
  }
  return sum;
}

} // namespace pe::reinit
