//===- PolarFloatsTest.cpp - Polar factors that are stored in float32 -----===//
//
// The last steps are a polynomial in float32. For every spectrum it must match steps in double,
// even if the estimate of the smallest singular value was wrong.
//
//===----------------------------------------------------------------------===//

#include "Matrices.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/FloatFinish.h"
#include "runtime/train/reinit/Polar.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::test;
using pe::reinit::PolarFactor;

namespace {

struct PolarFloats : testing::Test {
  void SetUp() override { ASSERT_TRUE(blas::load()); }

  static PolarFactor factorOf(const Matrix &w, ParallelFor &pool, DType stored = DType::F32) {
    auto polar = reinit::polarFactor(w.rows, w.cols, w.values.data(), {}, pool, stored);
    EXPECT_TRUE(polar) << polar.error().getMessage();
    return polar ? *polar : PolarFactor();
  }
  static PolarFactor factorOf(const Matrix &w, DType stored = DType::F32) {
    reinit::CallingThread pool;
    return factorOf(w, pool, stored);
  }
  /// Returns the error divided by the square root of the smaller side.
  static double error(const Matrix &exact, const PolarFactor &polar) {
    Matrix found(exact.rows, exact.cols);
    found.values = polar.factor;
    return distance(found, exact) / std::sqrt(std::min(exact.rows, exact.cols));
  }
};

TEST_F(PolarFloats, PolynomialReachesOne) {
  for (double l = 0.722; l <= 1; l += 0.002) {
    const std::vector<double> c = reinit::finishingPolynomial(l);
    ASSERT_FALSE(c.empty()) << l;
    for (int i = 0; i <= 100; ++i) {
      const double sigma = l + (1 - l) * i / 100, e = 1 - sigma * sigma;
      double sum = 0;
      for (size_t k = c.size(); k-- > 0;)
        sum = (sum + c[k]) * e;
      EXPECT_NEAR(sigma * (1 + sum), 1, 2e-8) << l;
    }
  }
  EXPECT_EQ(reinit::finishingPolynomial(1).size(), 1u);
  EXPECT_TRUE(reinit::finishingPolynomial(0.7).empty());
}

TEST_F(PolarFloats, SquaresOfEveryCondition) {
  constexpr int64_t kSize = 90;
  const Matrix left = frame(kSize, kSize, 1), right = frame(kSize, kSize, 2);
  const Matrix exact = compose(left, std::vector<double>(kSize, 1.0), right);
  for (double condition : {1.0, 3.0, 30.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e10, 1e12})
    for (bool single : {false, true}) { // one small singular value, or a full range
      SCOPED_TRACE(std::to_string(condition) + (single ? " once" : ""));
      std::vector<double> spectrum = spectrumOf(kSize, condition);
      if (single)
        std::fill(spectrum.begin(), spectrum.end() - 1, 1.0);
      const PolarFactor found = factorOf(compose(left, spectrum, right));
      EXPECT_LT(found.deviation / kSize, 1e-12);
      EXPECT_LE(found.iterations, 4);
      if (condition <= 1e6) {
        EXPECT_LT(error(exact, found), condition > 1e5 ? 1e-6 : 1e-7);
      }
      if (condition <= 1e7) {
        EXPECT_EQ(found.rank, kSize);
      }
      if (condition >= 1e10) {
        EXPECT_LT(found.rank, kSize);
      }
    }
}

TEST_F(PolarFloats, TakeFewerSteps) {
  const auto iterationsOf = [](int64_t rows, double condition) {
    return factorOf(compose(frame(rows, 48, 1), spectrumOf(48, condition), frame(48, 48, 2)))
        .iterations;
  };
  for (int64_t rows : {48, 192}) {
    EXPECT_EQ(iterationsOf(rows, 3), 2);
    EXPECT_EQ(iterationsOf(rows, 1e3), 3);
    EXPECT_EQ(iterationsOf(rows, 1e6), 4);
  }
}

/// The right singular vector of the smallest singular value is orthogonal to the start vector of
/// the inverse iteration, so the estimate misses it. If it is much smaller than estimated, its loss
/// is detected; if it is slightly smaller, polishing removes the remaining error of the polynomial.
TEST_F(PolarFloats, AreAccurateIfTheEstimateIsWrong) {
  constexpr int64_t kCols = 48;
  Random random(0, "reinit.least-singular-value");
  Matrix basis = gaussian(kCols, kCols, 3);
  for (int64_t i = 0; i < kCols; ++i)
    basis.at(i, 0) = random.normal();
  const Matrix right = orthonormalized(basis);
  for (int64_t rows : {kCols, 2 * kCols}) {
    const Matrix left = frame(rows, kCols, 1);
    const Matrix exact = compose(left, std::vector<double>(kCols, 1.0), right);
    for (int k = 0; k <= 60; ++k) {
      SCOPED_TRACE(std::to_string(rows) + ", " + std::to_string(k));
      std::vector<double> spectrum(kCols, 1.0);
      spectrum.back() = std::pow(10, -k / 10.0);
      const Matrix w = compose(left, spectrum, right);
      for (DType stored : {DType::F32, DType::F64}) {
        const PolarFactor found = factorOf(w, stored);
        EXPECT_LT(found.deviation / kCols, stored == DType::F64 ? 1e-20 : 1e-13);
        EXPECT_LT(error(exact, found), 1e-7);
      }
    }
  }
}

TEST_F(PolarFloats, ScaleDoesNotMatter) {
  for (int64_t rows : {60, 100}) {
    const Matrix w = gaussian(rows, 60, 3);
    Matrix factor(rows, 60);
    factor.values = factorOf(w).factor;
    for (double scale : {1e-30, 1e30}) {
      Matrix scaled = w;
      for (double &value : scaled.values)
        value *= scale;
      EXPECT_LT(error(factor, factorOf(scaled)), 1e-7) << scale;
    }
  }
}

TEST_F(PolarFloats, CompleteRankDeficientSquares) {
  const PolarFactor found = factorOf(product(gaussian(70, 66, 3), gaussian(66, 70, 4)));
  EXPECT_EQ(found.rank, 66);
  EXPECT_LT(found.deviation / 70, 1e-12);
}

TEST_F(PolarFloats, AreBitwiseEqualForAnyNumberOfThreads) {
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{300, 300}, {700, 280}, {130, 520}})
    for (DType stored : {DType::F32, DType::BF16}) {
      const Matrix w = gaussian(rows, cols, rows);
      const PolarFactor alone = factorOf(w, stored);
      for (int threads : {2, 3, 5}) {
        cpu::ThreadPool pool({.threads = threads});
        const PolarFactor found = factorOf(w, pool, stored);
        EXPECT_EQ(found.factor, alone.factor) << threads;
        EXPECT_EQ(found.deviation, alone.deviation) << threads;
      }
    }
}

} // namespace
