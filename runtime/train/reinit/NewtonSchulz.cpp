//===- NewtonSchulz.cpp - Orthogonalization by matrix products ------------===//
//
// The published coefficients, tiled symmetric products, and the iteration.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/reinit/NewtonSchulz.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace pe::reinit {
namespace {

using blas::Operand;
using blas::Transpose;

/// Up to this size, one product is as fast as several tiles.
constexpr int64_t kWholeProduct = 64;
/// Floats per cache line.
constexpr int64_t kLine = 16;

/// Returns the fastest tile size: small tiles waste less on the diagonal, large ones pack less.
int64_t tileEdge(int64_t n) { return n < 384 ? 64 : n < 1024 ? 96 : 128; }

/// Sets c[j, i] = c[i, j] for a tile, in blocks of entire cache lines.
void mirror(int64_t n, int64_t row, int64_t rows, int64_t column, int64_t columns, float *c) {
  for (int64_t i0 = row; i0 < row + rows; i0 += kLine)
    for (int64_t j = column; j < column + columns; ++j)
      for (int64_t i = i0; i < std::min(i0 + kLine, row + rows); ++i)
        c[j * n + i] = c[i * n + j];
}

constexpr QuinticStep kMuonStep = {3.4445, -4.7750, 2.0315};
constexpr std::array<QuinticStep, 5> kMuonSteps = {kMuonStep, kMuonStep, kMuonStep, kMuonStep,
                                                   kMuonStep};
constexpr std::array<QuinticStep, 5> kPolarExpressSteps = {
    {{8.156554524902461, -22.48329292557795, 15.878769915207462},
     {4.042929935166739, -2.808917465908714, 0.5000178451051316},
     {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
     {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
     {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}};

/// Returns the operand from row `row` on, after its transposition.
Operand<float> fromRow(Operand<float> operand, int64_t row) {
  operand.data += operand.transpose == Transpose::Yes ? row : row * operand.pitch;
  return operand;
}

/// Returns the operand from column `column` on, after its transposition.
Operand<float> fromColumn(Operand<float> operand, int64_t column) {
  operand.data += operand.transpose == Transpose::Yes ? column * operand.pitch : column;
  return operand;
}

/// Divides by `margin` times the norm, both in double, so that the result is the same for any
/// finite scale. Returns false if the matrix is zero.
bool normalise(std::span<float> x, double margin) {
  double sum = 0;
  for (float value : x)
    sum += static_cast<double>(value) * value;
  if (sum == 0)
    return false;
  const double factor = 1 / (margin * std::sqrt(sum));
  for (float &value : x)
    value = static_cast<float>(value * factor);
  return true;
}

} // namespace

QuinticSteps muonSteps() { return {kMuonSteps, 1.0}; }
QuinticSteps polarExpressSteps() { return {kPolarExpressSteps, 1.01}; }

void symmetricProduct(int64_t n, int64_t k, Operand<float> a, Operand<float> b, float *c) {
  if (n <= kWholeProduct) {
    blas::gemm(n, n, k, a, b, 0.0f, c, n);
    return;
  }
  const int64_t edge = tileEdge(n);
  for (int64_t row = 0; row < n; row += edge) {
    const int64_t rows = std::min(edge, n - row);
    for (int64_t column = row; column < n; column += edge) {
      const int64_t columns = std::min(edge, n - column);
      blas::gemm(rows, columns, k, fromRow(a, row), fromColumn(b, column), 0.0f,
                 c + row * n + column, n);
      if (column > row)
        mirror(n, row, rows, column, columns, c);
    }
  }
}

void newtonSchulz(int64_t rows, int64_t cols, float *x, const QuinticSteps &steps) {
  const int64_t count = rows * cols, n = std::min(rows, cols), k = std::max(rows, cols);
  if (!normalise({x, static_cast<size_t>(count)}, steps.margin))
    return;
  const bool tall = rows > cols;
  std::vector<float> gram(n * n), square(n * n), room(count);
  float *now = x, *next = room.data();
  for (const QuinticStep &step : steps.steps) {
    const Operand<float> plain{now, cols}, transposed{now, cols, Transpose::Yes};
    symmetricProduct(n, k, tall ? transposed : plain, tall ? plain : transposed, gram.data());
    symmetricProduct(n, n, {gram.data(), n}, {gram.data(), n}, square.data());
    for (int64_t i = 0; i < n * n; ++i)
      square[i] = static_cast<float>(step.b) * gram[i] + static_cast<float>(step.c) * square[i];
    for (int64_t i = 0; i < n; ++i)
      square[i * n + i] += static_cast<float>(step.a);
    const Operand<float> polynomial{square.data(), n};
    blas::gemm(rows, cols, n, tall ? plain : polynomial, tall ? polynomial : plain, 0.0f, next,
               cols);
    std::swap(now, next);
  }
  if (now != x)
    std::copy_n(now, count, x);
}

} // namespace pe::reinit
