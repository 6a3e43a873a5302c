//===- ReinitTest.cpp - Scales and reports of the projection --------------===//

#include "runtime/train/reinit/Reinit.h"
#include "Matrices.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/Polar.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace pe;
using namespace pe::reinit;
using pe::test::gaussian;

namespace {

struct Reinit : testing::Test {
  void SetUp() override { ASSERT_TRUE(blas::load()); }

  static std::vector<float> weights(int64_t rows, int64_t cols, uint64_t seed) {
    auto matrix = gaussian(rows, cols, seed);
    return {matrix.values.begin(), matrix.values.end()};
  }

  static MatrixReport project(std::vector<float> &w, int64_t rows, int64_t cols, Scale scale) {
    auto report = projectMatrix("w", rows, cols, w.data(), scale, 0);
    EXPECT_TRUE(report) << report.error().getMessage();
    return report ? *report : MatrixReport();
  }

  static double squaredNorm(const std::vector<float> &w) {
    double sum = 0;
    for (double value : w)
      sum += value * value;
    return sum;
  }
};

TEST_F(Reinit, MuonScaleIsTheRootOfOutputsOverInputs) {
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{64, 16}, {16, 64}, {32, 32}}) {
    std::vector<float> w = weights(rows, cols, 1);
    MatrixReport report = project(w, rows, cols, Scale::Muon);
    double scale = std::sqrt(static_cast<double>(rows) / static_cast<double>(cols));
    EXPECT_NEAR(report.scale, scale, 1e-12);
    EXPECT_NEAR(squaredNorm(w), scale * scale * static_cast<double>(std::min(rows, cols)), 1e-3);
    EXPECT_LT(report.dfiAfter, 1e-12);
    EXPECT_GT(report.dfiBefore, 1.0);
    EXPECT_TRUE(report.chosen);
  }
}

TEST_F(Reinit, NoneIsTheIsometryItself) {
  std::vector<float> w = weights(24, 48, 2);
  EXPECT_EQ(project(w, 24, 48, Scale::None).scale, 1);
  std::vector<double> wide(w.begin(), w.end());
  EXPECT_LT(deviationFromIsometry(24, 48, wide.data()), 1e-11);
}

TEST_F(Reinit, MeanSigmaIsTheNearestScaledIsometry) {
  double best = 0;
  for (Scale scale : {Scale::MeanSigma, Scale::None, Scale::Muon, Scale::Fro}) {
    std::vector<float> w = weights(48, 32, 3);
    MatrixReport report = project(w, 48, 32, scale);
    if (scale == Scale::MeanSigma)
      best = report.sfe;
    else
      EXPECT_GT(report.sfe, best) << nameOf(scale);
  }
}

TEST_F(Reinit, FroKeepsTheNorm) {
  std::vector<float> w = weights(48, 32, 4);
  double before = squaredNorm(w);
  MatrixReport report = project(w, 48, 32, Scale::Fro);
  EXPECT_NEAR(squaredNorm(w), before, 1e-4 * before);
  EXPECT_NEAR(report.norm, std::sqrt(before), 1e-9 * before);
}

TEST_F(Reinit, ReportsTheDistanceMoved) {
  std::vector<float> w = weights(20, 20, 5), before = w;
  MatrixReport report = project(w, 20, 20, Scale::None);
  double moved = 0;
  for (size_t i = 0; i < w.size(); ++i)
    moved += (static_cast<double>(before[i]) - w[i]) * (static_cast<double>(before[i]) - w[i]);
  EXPECT_NEAR(report.sfe, moved, 1e-9 * moved);
}

TEST_F(Reinit, ReportsASkippedZeroMatrix) {
  std::vector<float> w(12, 0.0f);
  MatrixReport report = project(w, 4, 3, Scale::Muon);
  EXPECT_FALSE(report.chosen);
  EXPECT_EQ(report.why, "zero");
  EXPECT_EQ(w, std::vector<float>(12, 0.0f));
}

TEST_F(Reinit, ReportsACompletedRankDeficientMatrix) {
  std::vector<float> w = weights(16, 16, 6);
  std::fill(w.begin() + 32, w.begin() + 48, 0.0f);
  MatrixReport report = project(w, 16, 16, Scale::None);
  EXPECT_EQ(report.rank, 15);
  EXPECT_LT(report.dfiAfter, 1e-12);
  EXPECT_NE(describe(report).find("rank deficient, completed"), std::string::npos);
}

TEST_F(Reinit, RejectsNanAndKeepsTheWeights) {
  std::vector<float> w = weights(6, 6, 7);
  w[8] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> before = w;
  auto report = projectMatrix("layer0.wq", 6, 6, w.data(), Scale::Muon, 0);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().getMessage(),
            "parameter 'layer0.wq': expected finite weights, found nan at [1, 2]");
  for (size_t i = 0; i < w.size(); ++i)
    EXPECT_EQ(std::memcmp(&w[i], &before[i], sizeof(float)), 0);
}

TEST_F(Reinit, ListsTheKnownScales) {
  auto scale = parseScale("mean-sigma");
  ASSERT_TRUE(scale);
  EXPECT_EQ(*scale, Scale::MeanSigma);
  auto unknown = parseScale("mean");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().getMessage(),
            "expected a scale of 'muon', 'none', 'mean-sigma' or 'fro', found 'mean'");
}

} // namespace
