//===- KernelsTest.cpp - Compiled kernels against simple loops ------------===//

#include "TestKernels.h"
#include "runtime/core/Random.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace pe;
using namespace pe::train;

namespace {

std::vector<float> normals(int64_t count, const char *name) {
  Random random(1, name);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(random.normal());
  return values;
}

struct KernelsTest : testing::Test {
  Kernels kernels = test::compiledKernels();
};

constexpr int64_t kRows = 5, kWidth = 24;

TEST_F(KernelsTest, RmsNorm) {
  std::vector<float> x = normals(kRows * kWidth, "x"), y(x.size()), inverse(kRows);
  std::vector<float> dy = normals(x.size(), "dy"), dx = normals(x.size(), "dx"), before = dx;
  kernels.rmsNorm.forward(x.data(), y.data(), inverse.data(), kRows, kWidth);
  kernels.rmsNorm.backward(y.data(), inverse.data(), dy.data(), dx.data(), kRows, kWidth);
  for (int64_t row = 0; row < kRows; ++row) {
    double squares = 0, along = 0;
    for (int64_t d = 0; d < kWidth; ++d) {
      squares += static_cast<double>(x[row * kWidth + d]) * x[row * kWidth + d];
      along += static_cast<double>(x[row * kWidth + d]) * dy[row * kWidth + d];
    }
    double r = 1 / std::sqrt(squares / kWidth + 1e-6);
    EXPECT_NEAR(inverse[row], r, 1e-6);
    for (int64_t d = 0; d < kWidth; ++d) {
      int64_t i = row * kWidth + d;
      EXPECT_NEAR(y[i], x[i] * r, 1e-6);
      EXPECT_NEAR(dx[i], before[i] + r * dy[i] - x[i] * r * r * r * along / kWidth, 2e-6);
    }
  }
}

TEST_F(KernelsTest, LayerNorm) {
  std::vector<float> x = normals(kRows * kWidth, "x"), y(x.size()), inverse(kRows);
  for (float &value : x)
    value += 3;
  std::vector<float> dy = normals(x.size(), "dy"), dx = normals(x.size(), "dx"), before = dx;
  kernels.layerNorm.forward(x.data(), y.data(), inverse.data(), kRows, kWidth);
  kernels.layerNorm.backward(y.data(), inverse.data(), dy.data(), dx.data(), kRows, kWidth);
  for (int64_t row = 0; row < kRows; ++row) {
    double center = 0, squares = 0, common = 0, along = 0;
    for (int64_t d = 0; d < kWidth; ++d) {
      center += x[row * kWidth + d] / static_cast<double>(kWidth);
      common += dy[row * kWidth + d] / static_cast<double>(kWidth);
    }
    for (int64_t d = 0; d < kWidth; ++d) {
      const double apart = x[row * kWidth + d] - center;
      squares += apart * apart;
      along += apart * dy[row * kWidth + d];
    }
    const double r = 1 / std::sqrt(squares / kWidth + 1e-5);
    EXPECT_NEAR(inverse[row], r, 1e-6);
    for (int64_t d = 0; d < kWidth; ++d) {
      const int64_t i = row * kWidth + d;
      const double apart = x[i] - center;
      EXPECT_NEAR(y[i], apart * r, 2e-6);
      EXPECT_NEAR(dx[i], before[i] + r * (dy[i] - common) - apart * r * r * r * along / kWidth,
                  4e-6);
    }
  }
}

TEST_F(KernelsTest, RmsNormOfZerosIsFinite) {
  std::vector<float> x(kWidth), y(kWidth, 1.0f), inverse(1);
  kernels.rmsNorm.forward(x.data(), y.data(), inverse.data(), 1, kWidth);
  EXPECT_EQ(y, std::vector<float>(kWidth, 0.0f));
  EXPECT_NEAR(inverse[0], 1000, 0.1);
}

TEST_F(KernelsTest, Embedding) {
  std::vector<float> table = normals(7 * kWidth, "table"), y(kRows * kWidth);
  std::vector<int32_t> tokens = {3, 0, 3, 6, 3};
  kernels.embeddingGather(table.data(), tokens.data(), y.data(), kRows, kWidth);
  std::vector<float> dTable = normals(7 * kWidth, "dTable"), expected = dTable;
  std::vector<float> dy = normals(kRows * kWidth, "dy");
  kernels.embeddingScatter(tokens.data(), dy.data(), dTable.data(), kRows, kWidth);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t d = 0; d < kWidth; ++d) {
      EXPECT_EQ(y[row * kWidth + d], table[tokens[row] * kWidth + d]);
      expected[tokens[row] * kWidth + d] += dy[row * kWidth + d];
    }
  EXPECT_EQ(dTable, expected);
}

/// Checks the first `width` elements of every row.
void expectCrossEntropy(const Kernels &kernels, std::vector<float> logits, float scale,
                        int64_t width = kWidth) {
  std::vector<int32_t> targets = {0, static_cast<int32_t>(width - 1), 7, 8, 15};
  const std::vector<float> weights = {1, 0.5f, 1, 0, 2};
  std::vector<float> losses(kRows), before = logits;
  kernels.crossEntropy(logits.data(), targets.data(), weights.data(), losses.data(), kRows, width,
                       kWidth, scale);
  for (int64_t row = 0; row < kRows; ++row) {
    const float *z = &before[row * kWidth];
    double largest = *std::max_element(z, z + width), sum = 0;
    for (int64_t j = 0; j < width; ++j)
      sum += std::exp(z[j] - largest);
    double loss = weights[row] * (std::log(sum) + largest - z[targets[row]]);
    EXPECT_NEAR(losses[row], loss, 2e-6 * (1 + std::abs(loss)));
    const double factor = scale * weights[row];
    for (int64_t j = 0; j < width; ++j) {
      double gradient = factor * (std::exp(z[j] - largest) / sum - (j == targets[row]));
      EXPECT_NEAR(logits[row * kWidth + j], gradient, 3e-7 * factor);
    }
  }
}

TEST_F(KernelsTest, CrossEntropy) {
  std::vector<float> logits = normals(kRows * kWidth, "logits");
  expectCrossEntropy(kernels, logits, 0.25f);
  for (float &value : logits)
    value = value * 50 + 1000;
  expectCrossEntropy(kernels, logits, 1.0f);
}

TEST_F(KernelsTest, CrossEntropyOfAnyWidth) {
  std::vector<float> logits = normals(kRows * kWidth, "logits");
  for (int64_t width : {17, 20, 23})
    expectCrossEntropy(kernels, logits, 0.25f, width);
}

TEST_F(KernelsTest, CrossEntropyDoesNotReadRowsOfWeightZero) {
  std::vector<float> logits(kWidth, std::nanf("")), loss(1, 1.0f);
  const int32_t target = 0;
  const float weight = 0;
  kernels.crossEntropy(logits.data(), &target, &weight, loss.data(), 1, kWidth, kWidth, 1.0f);
  EXPECT_EQ(loss[0], 0);
  EXPECT_EQ(logits, std::vector<float>(kWidth, 0.0f));
}

TEST_F(KernelsTest, CrossEntropyPropagatesNan) {
  std::vector<float> logits(kWidth, 0.0f), loss(1);
  logits[3] = std::nanf("");
  const int32_t target = 0;
  const float weight = 1;
  kernels.crossEntropy(logits.data(), &target, &weight, loss.data(), 1, kWidth, kWidth, 1.0f);
  EXPECT_TRUE(std::isnan(loss[0]));
}

TEST_F(KernelsTest, Sums) {
  std::vector<float> a = normals(48, "a");
  double squares = 0, result = -1;
  for (float value : a)
    squares += static_cast<double>(value) * value;
  kernels.sumSquares(a.data(), &result, 48);
  EXPECT_NEAR(result, squares, 1e-12 * squares);
  kernels.sumSquares(a.data(), &result, 0);
  EXPECT_EQ(result, 0);
}

TEST_F(KernelsTest, AdamW) {
  constexpr int64_t count = 16;
  std::vector<float> p = normals(count, "p"), m(count), v(count);
  std::vector<double> dp(p.begin(), p.end()), dm(count), dv(count);
  for (int step = 1; step <= 3; ++step) {
    std::vector<float> g = normals(count, step == 2 ? "g2" : "g");
    double first = 1 / (1 - std::pow(0.9, step)), second = 1 / (1 - std::pow(0.95, step));
    kernels.adamw(p.data(), g.data(), m.data(), v.data(), count, 0.5f, 0.01f, 0.9f, 0.95f, 1e-8f,
                  static_cast<float>(first), static_cast<float>(second), 0.999f, -0.5f);
    for (int64_t i = 0; i < count; ++i) {
      double gradient = 0.5 * g[i];
      dm[i] = 0.9 * dm[i] + 0.1 * gradient;
      dv[i] = 0.95 * dv[i] + 0.05 * gradient * gradient;
      dp[i] = 0.999 * dp[i] - 0.01 * dm[i] * first / (std::sqrt(dv[i] * second) + 1e-8);
      dp[i] = std::max(dp[i], -0.5);
      EXPECT_NEAR(p[i], dp[i], 1e-6);
      EXPECT_GE(p[i], -0.5f);
    }
  }
}

TEST_F(KernelsTest, Muon) {
  constexpr int64_t count = 16;
  std::vector<float> p = normals(count, "p"), g = normals(count, "g"), m = normals(count, "m");
  std::vector<float> u(count), before = p, old = m;
  kernels.muonMomentum(g.data(), m.data(), u.data(), count, 0.75f);
  kernels.muonUpdate(p.data(), u.data(), count, 0.5f, 0.125f);
  for (int64_t i = 0; i < count; ++i) {
    double momentum = 0.75 * old[i] + 0.25 * g[i], ahead = 0.75 * momentum + 0.25 * g[i];
    EXPECT_NEAR(m[i], momentum, 1e-6);
    EXPECT_NEAR(u[i], ahead, 1e-6);
    EXPECT_NEAR(p[i], 0.5 * before[i] - 0.125 * ahead, 1e-6);
  }
}

} // namespace
