//===- PolarEnginesTest.cpp - Quintic, cubic, threads, tiles --------------===//
//
// Compares the engines other than the default with known singular vectors, and the published
// operators with their scalar iteration. Checks that results are bitwise identical for any number
// of threads.
//
//===----------------------------------------------------------------------===//

#include "Matrices.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/Polar.h"
#include "runtime/train/reinit/QuinticPolar.h"
#include "runtime/train/reinit/Spectrum.h"

#include <gtest/gtest.h>

using namespace pe;
using pe::reinit::Engine;
using pe::reinit::Norm;
using pe::reinit::PolarFactor;
using pe::reinit::Settings;
using pe::test::compose;
using pe::test::distance;
using pe::test::frame;
using pe::test::gaussian;
using pe::test::product;
using pe::test::spectrumOf;
using pe::test::transpose;
using Dense = pe::test::Matrix;

namespace {

struct PolarEngines : testing::Test {
  void SetUp() override { ASSERT_TRUE(blas::load()); }

  static PolarFactor factorOf(const Dense &w, const Settings &settings, ParallelFor &pool) {
    auto polar = reinit::polarFactor(w.rows, w.cols, w.values.data(), settings, pool);
    EXPECT_TRUE(polar) << polar.error().getMessage();
    return polar ? *polar : PolarFactor();
  }
  static PolarFactor factorOf(const Dense &w, const Settings &settings) {
    reinit::CallingThread pool;
    return factorOf(w, settings, pool);
  }
  static Dense matrixOf(const Dense &like, const PolarFactor &polar) {
    Dense result(like.rows, like.cols);
    result.values = polar.factor;
    return result;
  }
};

const Settings kQuintic = {.engine = Engine::Quintic};

TEST_F(PolarEngines, QuinticIsAccurateUpToCondition1000) {
  for (double condition : {1.0, 3.0, 100.0, 1000.0})
    for (auto [rows, cols] :
         {std::pair<int64_t, int64_t>{48, 48}, {130, 130}, {192, 48}, {48, 130}}) {
      SCOPED_TRACE(std::to_string(condition) + ", " + std::to_string(rows));
      const int64_t n = std::min(rows, cols);
      Dense left = frame(rows, n, 1), right = frame(cols, n, 2);
      Dense w = compose(left, spectrumOf(n, condition), right);
      for (double &value : w.values) // as weights are stored
        value = static_cast<float>(value);
      PolarFactor exact = factorOf(w, {}), found = factorOf(w, kQuintic);
      EXPECT_LT(found.deviation / static_cast<double>(n), 1e-12);
      EXPECT_LE(found.iterations, 13);
      // Rounding in float32 leaves the column space of a tall matrix, which products cannot
      // restore.
      EXPECT_LT(distance(matrixOf(w, found), matrixOf(w, exact)) / std::sqrt(n),
                rows == cols ? 4e-6 : 8e-6);
    }
}

/// A factor stored in float32 skips the last step, which would hide a loss of accuracy in
/// Cholesky-QR.
TEST_F(PolarEngines, TallMatricesKeepTheirPrecision) {
  reinit::CallingThread pool;
  for (double condition : {1e4, 1e5, 1e6})
    for (int64_t rows : {49, 192, 700}) {
      SCOPED_TRACE(std::to_string(condition) + ", " + std::to_string(rows));
      Dense left = frame(rows, 48, 1), right = frame(48, 48, 2);
      Dense w = compose(left, spectrumOf(48, condition), right);
      Dense exact = compose(left, std::vector<double>(48, 1.0), right);
      auto found = reinit::polarFactor(rows, 48, w.values.data(), {}, pool, DType::F32);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->rank, 48);
      EXPECT_LT(found->deviation / 48, 1e-12);
      Dense factor(rows, 48);
      factor.values = found->factor;
      EXPECT_LT(distance(factor, exact) / std::sqrt(48.0), 1e-6);
    }
}

TEST_F(PolarEngines, QuinticTerminatesForEveryMatrix) {
  for (int64_t n : {1, 2, 64, 192})
    for (int64_t rows : {n, 4 * n}) {
      PolarFactor found = factorOf(gaussian(rows, n, 40 + n), kQuintic);
      EXPECT_LT(found.deviation / static_cast<double>(n), 1e-12);
      EXPECT_LE(found.iterations, 13);
      EXPECT_EQ(found.rank, n);
    }
  Dense deficient = product(gaussian(64, 60, 3), gaussian(60, 64, 4));
  PolarFactor completed = factorOf(deficient, kQuintic);
  EXPECT_EQ(completed.rank, 60);
  EXPECT_LT(completed.deviation / 64, 1e-12);
}

TEST_F(PolarEngines, ScaleDoesNotMatter) {
  const Dense w = gaussian(40, 24, 3);
  for (Engine engine : {Engine::Qdwh, Engine::Quintic, Engine::Cubic}) {
    const Settings settings = {.engine = engine};
    const Dense factor = matrixOf(w, factorOf(w, settings));
    for (double scale : {1e-30, 1e30}) {
      Dense scaled = w;
      for (double &value : scaled.values)
        value *= scale;
      EXPECT_LT(distance(matrixOf(w, factorOf(scaled, settings)), factor), 1e-5) << scale;
    }
  }
}

TEST_F(PolarEngines, BestPolynomialAlternates) {
  for (double l : {0.1, 0.3, 0.7, 0.99}) {
    const reinit::Quintic p = reinit::nearestToOne(l);
    double worst = 0;
    for (int i = 0; i <= 1000; ++i)
      worst = std::max(worst, std::abs(1 - p(l + (1 - l) * i / 1000)));
    EXPECT_NEAR(1 - p(l), worst, 1e-9);
    EXPECT_NEAR(p(1) - 1, worst, 1e-9);
  }
}

/// Every singular value follows s -> 1.5 s - 0.5 s^3 for exactly `iterations` steps.
TEST_F(PolarEngines, CubicMatchesThePublishedOperator) {
  const std::vector<double> spectrum = spectrumOf(24, 300);
  double frobenius = 0;
  for (double sigma : spectrum)
    frobenius += sigma * sigma;
  for (auto [norm, iterations] :
       {std::pair{Norm::Fro, 5}, {Norm::Fro, 10}, {Norm::Spectral, 15}, {Norm::Spectral, 1}})
    for (int64_t rows : {24, 50}) {
      Dense left = frame(rows, 24, 5), right = frame(24, 24, 6);
      std::vector<double> expected = spectrum;
      for (double &sigma : expected) {
        sigma /= norm == Norm::Fro ? std::sqrt(frobenius) : 1;
        for (int i = 0; i < iterations; ++i)
          sigma = 1.5 * sigma - 0.5 * sigma * sigma * sigma;
      }
      Dense w = compose(left, spectrum, right);
      const Settings settings = {.engine = Engine::Cubic, .iterations = iterations, .norm = norm};
      PolarFactor found = factorOf(w, settings);
      EXPECT_EQ(found.iterations, iterations);
      EXPECT_EQ(found.rank, 24);
      EXPECT_LT(distance(matrixOf(w, found), compose(left, expected, right)), 1e-8);
      PolarFactor wide = factorOf(transpose(w), settings);
      EXPECT_LT(distance(transpose(matrixOf(transpose(w), wide)), matrixOf(w, found)), 1e-10);
    }
}

/// Random 64 x 64 matrices, scaled by the Frobenius norm: the deviation is 26 after 5 steps, 3.8
/// after 10, and below 1e-6 after 20.
TEST_F(PolarEngines, CubicLeavesTheMeasuredDeviation) {
  std::vector<double> five, ten;
  for (uint64_t seed = 0; seed < 21; ++seed) {
    Dense w = gaussian(64, 64, 500 + seed);
    five.push_back(factorOf(w, {.engine = Engine::Cubic, .iterations = 5}).deviation);
    ten.push_back(factorOf(w, {.engine = Engine::Cubic, .iterations = 10}).deviation);
  }
  std::sort(five.begin(), five.end());
  std::sort(ten.begin(), ten.end());
  EXPECT_NEAR(five[10], 26.2, 2);
  EXPECT_NEAR(ten[10], 3.8, 1);
}

TEST_F(PolarEngines, IsBitwiseEqualForAnyNumberOfThreads) {
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{300, 300}, {700, 280}, {130, 520}})
    for (Settings settings : {Settings{.engine = Engine::Qdwh}, kQuintic,
                              Settings{.engine = Engine::Cubic, .norm = Norm::Spectral}}) {
      Dense w = gaussian(rows, cols, rows);
      const std::vector<double> alone = factorOf(w, settings).factor;
      for (int threads : {2, 3, 5}) {
        cpu::ThreadPool pool({.threads = threads});
        EXPECT_EQ(factorOf(w, settings, pool).factor, alone) << threads;
      }
    }
}

/// Tests sizes around the edge of a tile.
TEST_F(PolarEngines, SizesAroundATile) {
  for (int64_t n : {255, 256, 257, 513})
    for (int64_t rows : {n, n + 140}) {
      Dense w = gaussian(rows, n, n);
      PolarFactor found = factorOf(w, {});
      EXPECT_LT(found.deviation / static_cast<double>(n), 1e-12);
      Dense u = matrixOf(w, found), p = product(transpose(u), w);
      EXPECT_LT(distance(p, transpose(p)), 1e-9 * distance(p, Dense(n, n)));
    }
}

TEST_F(PolarEngines, LanczosFindsExtremeEigenvalues) {
  Dense right = frame(60, 60, 8);
  Dense a = compose(right, spectrumOf(60, 1000), right);
  reinit::CallingThread pool;
  auto [least, most] = reinit::extremeEigenvalues(pool, 60, a.values, 60);
  EXPECT_NEAR(most, 1, 1e-12);
  EXPECT_NEAR(least, 1e-3, 1e-12);
}

} // namespace
