//===- MuonTest.cpp - Newton-Schulz steps and Muon against simple loops ---===//

#include "Models.h"
#include "runtime/train/reinit/NewtonSchulz.h"
#include "runtime/train/trainer/Optimizers.h"

#include <cmath>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

/// A matrix in double, for evaluating the published formulas.
struct Matrix {
  int64_t rows, cols;
  std::vector<double> values;

  double &at(int64_t i, int64_t j) { return values[i * cols + j]; }
  double at(int64_t i, int64_t j) const { return values[i * cols + j]; }
  Matrix transposed() const {
    Matrix result{cols, rows, std::vector<double>(values.size())};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        result.at(j, i) = at(i, j);
    return result;
  }
  Matrix times(const Matrix &other) const {
    Matrix result{rows, other.cols, std::vector<double>(rows * other.cols)};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < cols; ++k)
        for (int64_t j = 0; j < other.cols; ++j)
          result.at(i, j) += at(i, k) * other.at(k, j);
    return result;
  }
  double norm() const {
    double sum = 0;
    for (double value : values)
      sum += value * value;
    return std::sqrt(sum);
  }
};

Matrix randomMatrix(int64_t rows, int64_t cols, uint64_t seed) {
  Matrix matrix{rows, cols, std::vector<double>(rows * cols)};
  Random random(seed, "matrix");
  for (double &value : matrix.values)
    value = static_cast<float>(random.normal());
  return matrix;
}

/// Applies X <- a X + b (X X^T) X + c (X X^T)^2 X to X / (margin |X|_F).
Matrix plainSteps(Matrix x, const std::vector<std::array<double, 3>> &steps, double margin) {
  const double norm = x.norm();
  for (double &value : x.values)
    value /= margin * norm;
  for (auto [a, b, c] : steps) {
    const Matrix once = x.times(x.transposed()).times(x);
    const Matrix twice = x.times(x.transposed()).times(once);
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = a * x.values[i] + b * once.values[i] + c * twice.values[i];
  }
  return x;
}

const std::vector<std::array<double, 3>> kJordan(5, {3.4445, -4.7750, 2.0315});
const std::vector<std::array<double, 3>> kPolarExpress = {{8.1566, -22.483, 15.879},
                                                          {4.0429, -2.8089, 0.5000},
                                                          {3.8917, -2.7725, 0.5061},
                                                          {3.2858, -2.3681, 0.4645},
                                                          {2.3465, -1.7098, 0.4232}};
const std::vector<std::array<double, 3>> kConverged(60, {1.5, -0.5, 0});

TEST(NewtonSchulz, MatchesTheFormula) {
  ASSERT_TRUE(blas::load());
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                            {1, 9},
                            {7, 3},
                            {16, 16},
                            {24, 40},
                            {40, 24},
                            {150, 150},
                            {137, 160}}) {
    const Matrix x = randomMatrix(rows, cols, 3);
    for (bool jordan : {true, false})
      // Any scale that float32 can represent gives the same result.
      for (float scale : {1.0f, 1e-30f, 1e30f}) {
        std::vector<float> values(x.values.begin(), x.values.end());
        for (float &value : values)
          value *= scale;
        reinit::newtonSchulz(rows, cols, values.data(),
                             jordan ? reinit::muonSteps() : reinit::polarExpressSteps());
        const Matrix plain =
            jordan ? plainSteps(x, kJordan, 1) : plainSteps(x, kPolarExpress, 1.01);
        // The published coefficients of the second list are rounded to four digits.
        for (size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(values[i], plain.values[i], jordan ? 2e-5 : 1e-3)
              << rows << "x" << cols << " " << jordan << " " << scale;
      }
  }
}

TEST(NewtonSchulz, LeavesZeroUnchanged) {
  ASSERT_TRUE(blas::load());
  std::vector<float> zero(12);
  reinit::newtonSchulz(3, 4, zero.data(), reinit::muonSteps());
  EXPECT_EQ(zero, std::vector<float>(12));
}

TEST(NewtonSchulz, SymmetricProductsFillBothTriangles) {
  ASSERT_TRUE(blas::load());
  for (int64_t n : {5, 129, 200, 513}) {
    const int64_t k = 37;
    const Matrix x = randomMatrix(n, k, 4);
    const std::vector<float> values(x.values.begin(), x.values.end());
    const Matrix wide = x.transposed();
    const std::vector<float> turned(wide.values.begin(), wide.values.end());
    std::vector<float> a(n * n), b(n * n), whole(n * n);
    using blas::Transpose;
    reinit::symmetricProduct(n, k, {values.data(), k}, {values.data(), k, Transpose::Yes},
                             a.data());
    reinit::symmetricProduct(n, k, {turned.data(), n, Transpose::Yes}, {turned.data(), n},
                             b.data());
    blas::gemm(n, n, k, blas::Operand<float>{values.data(), k},
               blas::Operand<float>{values.data(), k, Transpose::Yes}, 0.0f, whole.data(), n);
    for (int64_t i = 0; i < n * n; ++i) {
      ASSERT_NEAR(a[i], whole[i], 1e-4) << n << " " << i;
      ASSERT_NEAR(b[i], whole[i], 1e-4) << n << " " << i;
    }
  }
}

/// Compares three updates of one matrix with the formula in double.
void expectMuon(int64_t rows, int64_t cols, const MuonConfig &config) {
  ParameterLayout layout;
  layout.add("w", {rows, cols}, Role::Mlp);
  Optimizers optimizers(layout, compiledKernels(), {OptimizerKind::Muon, {}, config});
  ASSERT_EQ(optimizers.all().size(), 2u);
  ParameterBlock values(layout.extent()), gradients(layout.extent());
  Matrix w = randomMatrix(rows, cols, 9);
  Matrix momentum{rows, cols, std::vector<double>(rows * cols)};
  std::copy(w.values.begin(), w.values.end(), values.data());
  for (uint64_t step = 0; step < 3; ++step) {
    const Matrix gradient = randomMatrix(rows, cols, 10 + step);
    std::copy(gradient.values.begin(), gradient.values.end(), gradients.data());
    // AdamW's rate and the norms do not affect the result.
    ASSERT_TRUE(optimizers.step(values, gradients, {0, {0, 1e9}}, {1e9, 0.1}, inOrder));
    Matrix ahead = gradient;
    for (size_t i = 0; i < w.values.size(); ++i) {
      momentum.values[i] = 0.9 * momentum.values[i] + 0.1 * gradient.values[i];
      ahead.values[i] = 0.9 * momentum.values[i] + 0.1 * gradient.values[i];
    }
    const Matrix direction =
        config.orthogonal == MuonOrthogonal::Quintic        ? plainSteps(ahead, kJordan, 1)
        : config.orthogonal == MuonOrthogonal::PolarExpress ? plainSteps(ahead, kPolarExpress, 1.01)
                                                            : plainSteps(ahead, kConverged, 1);
    const double outputs = static_cast<double>(rows), inputs = static_cast<double>(cols);
    const double adjust = config.adjust == MuonAdjust::Original
                              ? std::sqrt(std::max(1.0, outputs / inputs))
                              : 0.2 * std::sqrt(std::max(outputs, inputs));
    for (size_t i = 0; i < w.values.size(); ++i) {
      w.values[i] = (1 - 0.1 * 0.5) * w.values[i] - 0.1 * adjust * direction.values[i];
      ASSERT_NEAR(values.data()[i], w.values[i], 1e-3 * (1 + step)) << step;
    }
  }
  EXPECT_NEAR(optimizers.find("momentum", 0)[1], momentum.values[1], 1e-6);
  EXPECT_EQ(optimizers.find("m", 0), nullptr);
  for (int64_t i = layout[0].count; i < layout[0].extent; ++i)
    EXPECT_EQ(values.data()[i], 0.0f);
}

TEST(Muon, MatchesTheFormula) {
  ASSERT_TRUE(blas::load());
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{12, 12}, {24, 8}, {5, 13}})
    for (MuonOrthogonal orthogonal :
         {MuonOrthogonal::Quintic, MuonOrthogonal::PolarExpress, MuonOrthogonal::Qdwh})
      for (MuonAdjust adjust : {MuonAdjust::Original, MuonAdjust::MatchRms})
        expectMuon(
            rows, cols,
            {.momentum = 0.9, .orthogonal = orthogonal, .adjust = adjust, .weightDecay = 0.5});
}

TEST(Muon, ZeroGradientOnlyDecays) {
  ASSERT_TRUE(blas::load());
  for (MuonOrthogonal orthogonal : {MuonOrthogonal::Quintic, MuonOrthogonal::Qdwh}) {
    ParameterLayout layout;
    layout.add("w", {4, 4}, Role::Attention);
    Optimizers optimizers(layout, compiledKernels(),
                          {OptimizerKind::Muon, {}, {.orthogonal = orthogonal, .weightDecay = 1}});
    ParameterBlock values(layout.extent()), gradients(layout.extent());
    std::fill_n(values.data(), 16, 2.0f);
    ASSERT_TRUE(optimizers.step(values, gradients, {0, {0, 0}}, {0.1, 0.5}, inOrder));
    EXPECT_EQ(values.data()[7], 1.0f);
  }
}

// Clipping uses only the norm of AdamW's gradients.
TEST(Muon, IsIndependentOfClipping) {
  ASSERT_TRUE(blas::load());
  ParameterLayout layout;
  layout.add("head", {4, 4}, Role::Head);
  layout.add("w", {4, 4}, Role::Mlp);
  ParameterBlock values(layout.extent()), gradients(layout.extent());
  std::fill_n(gradients.at(layout[0]), 16, 0.1f);
  std::fill_n(gradients.at(layout[1]), 16, 100.0f);
  Optimizers optimizers(layout, compiledKernels(), {.kind = OptimizerKind::Muon});
  const Norms norms = optimizers.norms(gradients, inOrder);
  EXPECT_NEAR(norms.each[0], 0.4, 1e-6);
  EXPECT_NEAR(norms.each[1], 400, 1e-3);
  EXPECT_NEAR(norms.total, std::hypot(0.4, 400), 1e-3);
  ASSERT_TRUE(optimizers.step(values, gradients, norms, {0.1, 0.1}, inOrder));
  EXPECT_FLOAT_EQ(optimizers.find("m", 0)[3], 0.1f * 0.1f);
  EXPECT_FLOAT_EQ(optimizers.find("momentum", 1)[3], 0.05f * 100.0f);
}

} // namespace
