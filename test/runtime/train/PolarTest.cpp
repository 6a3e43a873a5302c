//===- PolarTest.cpp - The polar factor by its defining properties --------===//
//
// U is the polar factor of W if and only if U is an isometry and U^T W is symmetric positive
// semidefinite, so the check needs no singular value decomposition. The other tests check
// invariances, and inputs that break naive implementations.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/reinit/Polar.h"
#include "Matrices.h"
#include "runtime/train/blas/Blas.h"

#include <gtest/gtest.h>
#include <limits>

using namespace pe;
using namespace pe::test;
using pe::reinit::polarFactor;

namespace {

struct Polar : testing::Test {
  void SetUp() override {
    auto status = blas::load();
    ASSERT_TRUE(status) << status.error().getMessage();
  }

  /// Returns the factor of w and, if requested, its rank.
  static Matrix factorOf(const Matrix &w, int64_t *rank = nullptr) {
    auto polar = polarFactor(w.rows, w.cols, w.values.data(), 7);
    EXPECT_TRUE(polar) << polar.error().getMessage();
    Matrix result(w.rows, w.cols);
    if (!polar)
      return result;
    EXPECT_LE(polar->iterations, 4);
    if (rank)
      *rank = polar->rank;
    result.values = std::move(polar->factor);
    return result;
  }

  static double deviation(const Matrix &u) {
    return reinit::deviationFromIsometry(u.rows, u.cols, u.values.data()) /
           static_cast<double>(std::min(u.rows, u.cols));
  }

  /// Checks |P - P^T| and the smallest of many Rayleigh quotients of P, both relative to |P|, where
  /// P = U^T W (or W U^T for wide matrices).
  static void expectPolarFactor(const Matrix &w, const Matrix &u, double tolerance) {
    EXPECT_LT(deviation(u), 1e-14);
    Matrix p = w.rows >= w.cols ? product(transpose(u), w) : product(w, transpose(u));
    double norm = distance(p, Matrix(p.rows, p.cols));
    EXPECT_LT(distance(p, transpose(p)), tolerance * norm);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Matrix x = gaussian(p.cols, 1, 100 + seed);
      double quotient = product(transpose(x), product(p, x)).at(0, 0);
      EXPECT_GT(quotient, -tolerance * norm * static_cast<double>(p.cols));
    }
  }
};

TEST_F(Polar, IsTheSymmetricPositiveFactor) {
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{64, 64},
                            {96, 96},
                            {128, 64},
                            {64, 128},
                            {256, 64},
                            {64, 256},
                            {5, 3},
                            {1, 17},
                            {17, 1},
                            {1, 1}}) {
    SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols));
    Matrix w = gaussian(rows, cols, rows * 1000 + cols);
    int64_t rank = 0;
    Matrix u = factorOf(w, &rank);
    EXPECT_EQ(rank, std::min(rows, cols));
    expectPolarFactor(w, u, 1e-11);
  }
}

TEST_F(Polar, IsAccurateForEveryConditionUpToAMillion) {
  for (double condition : {1.0, 10.0, 1e3, 1e4, 1e6})
    for (int64_t rows : {48, 49, 192, 700}) {
      SCOPED_TRACE(std::to_string(condition) + ", rows " + std::to_string(rows));
      Matrix left = frame(rows, 48, 1), right = frame(48, 48, 2);
      Matrix w = compose(left, spectrumOf(48, condition), right);
      Matrix exact = compose(left, std::vector<double>(48, 1.0), right);
      Matrix u = factorOf(w);
      EXPECT_LT(deviation(u), 1e-14);
      EXPECT_LT(distance(u, exact) / std::sqrt(48.0), condition > 1e5 ? 1e-6 : 1e-7);
    }
}

TEST_F(Polar, TakesFewerStepsWithoutSmallSingularValues) {
  auto iterationsOf = [](int64_t rows, double condition) {
    Matrix w = compose(frame(rows, 48, 1), spectrumOf(48, condition), frame(48, 48, 2));
    return polarFactor(w.rows, w.cols, w.values.data(), 7)->iterations;
  };
  EXPECT_EQ(iterationsOf(192, 3), 3);
  EXPECT_EQ(iterationsOf(192, 1e5), 4);
  EXPECT_EQ(iterationsOf(48, 3), 3);
  EXPECT_EQ(iterationsOf(48, 1e5), 4);
  EXPECT_EQ(iterationsOf(48, 1e8), 4); // there is no Cholesky factor for an estimate
}

TEST_F(Polar, DetectsAMissedSmallestSingularValue) {
  constexpr int64_t kCols = 48;
  // The right singular vector of 1e-5 is orthogonal to the start vector of the inverse iteration.
  Random random(0, "reinit.least-singular-value");
  Matrix basis = gaussian(kCols, kCols, 3);
  std::vector<double> start(kCols);
  for (double &value : start)
    value = random.normal();
  for (int64_t i = 0; i < kCols; ++i)
    basis.at(i, 0) = start[i];
  Matrix right = orthonormalized(basis);
  std::vector<double> spectrum(kCols, 1.0);
  spectrum.back() = 1e-5;
  Matrix left = frame(100, kCols, 1);
  Matrix u = factorOf(compose(left, spectrum, right));
  EXPECT_LT(distance(u, compose(left, std::vector<double>(kCols, 1.0), right)), 1e-6);
}

TEST_F(Polar, DoesNotDependOnScale) {
  Matrix w = gaussian(40, 24, 3), u = factorOf(w);
  for (double scale : {1e-30, 1e-7, 1e30}) {
    Matrix scaled = w;
    for (double &value : scaled.values)
      value *= scale;
    EXPECT_LT(distance(factorOf(scaled), u), 1e-12) << scale;
  }
}

TEST_F(Polar, CommutesWithTransposition) {
  Matrix w = gaussian(40, 24, 4);
  EXPECT_LT(distance(factorOf(transpose(w)), transpose(factorOf(w))), 1e-12);
  Matrix square = gaussian(32, 32, 5);
  EXPECT_LT(distance(factorOf(transpose(square)), transpose(factorOf(square))), 1e-9);
}

TEST_F(Polar, IsEquivariantUnderRotations) {
  Matrix w = gaussian(40, 24, 6), left = frame(40, 40, 7), right = frame(24, 24, 8);
  Matrix rotated = product(product(left, w), transpose(right));
  Matrix expected = product(product(left, factorOf(w)), transpose(right));
  EXPECT_LT(distance(factorOf(rotated), expected), 1e-10);
}

TEST_F(Polar, LeavesAnIsometryUnchanged) {
  Matrix u = frame(64, 32, 9);
  EXPECT_LT(distance(factorOf(u), u), 1e-12);
}

TEST_F(Polar, CompletesRankDeficientMatrices) {
  struct Case {
    const char *name;
    Matrix w;
    int64_t rank;
  };
  Matrix zeroColumns = gaussian(64, 64, 10);
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 20; j < 27; ++j)
      zeroColumns.at(i, j) = 0;
  Matrix duplicatedRows = gaussian(32, 32, 11);
  for (int64_t j = 0; j < 32; ++j)
    duplicatedRows.at(5, j) = duplicatedRows.at(4, j);
  std::vector<Case> cases = {
      {"zero columns", zeroColumns, 57},
      {"duplicated rows", duplicatedRows, 31},
      {"rank 1", product(gaussian(32, 1, 12), gaussian(1, 32, 13)), 1},
      {"rank 121 of 128", product(gaussian(128, 121, 14), gaussian(121, 128, 15)), 121},
      {"tall, rank 10 of 16", product(gaussian(64, 10, 16), gaussian(10, 16, 17)), 10},
      {"wide, rank 10 of 16", product(gaussian(16, 10, 18), gaussian(10, 64, 19)), 10},
  };
  for (const Case &test : cases) {
    SCOPED_TRACE(test.name);
    int64_t rank = 0;
    Matrix u = factorOf(test.w, &rank);
    EXPECT_EQ(rank, test.rank);
    expectPolarFactor(test.w, u, 1e-4);
  }
}

TEST_F(Polar, ReportsTheZeroMatrix) {
  std::vector<double> zero(12, 0.0);
  auto polar = polarFactor(4, 3, zero.data(), 0);
  ASSERT_TRUE(polar);
  EXPECT_TRUE(polar->factor.empty());
  EXPECT_EQ(polar->rank, 0);
}

TEST_F(Polar, RejectsNonFiniteWeights) {
  for (double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Matrix w = gaussian(4, 3, 20);
    w.at(2, 1) = bad;
    auto polar = polarFactor(4, 3, w.values.data(), 0);
    ASSERT_FALSE(polar);
    EXPECT_NE(polar.error().getMessage().find("expected finite weights"), std::string::npos);
    EXPECT_NE(polar.error().getMessage().find("[2, 1]"), std::string::npos);
  }
}

TEST_F(Polar, IsReproducible) {
  Matrix w = product(gaussian(32, 3, 21), gaussian(3, 32, 22));
  EXPECT_EQ(factorOf(w).values, factorOf(w).values);
}

} // namespace
