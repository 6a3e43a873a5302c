//===- Polar.cpp - The orthogonal polar factor of a matrix ----------------===//
//
// Scaling and transposition around the engines, and the completion of rank-deficient matrices.
// Engines work on a tall matrix [m, n], m >= n, whose largest element is in [1, 2).
//
//===----------------------------------------------------------------------===//

#include "runtime/train/reinit/Polar.h"
#include "runtime/core/DType.h"
#include "runtime/core/Random.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/CubicPolar.h"
#include "runtime/train/reinit/Elements.h"
#include "runtime/train/reinit/Qdwh.h"
#include "runtime/train/reinit/QuinticPolar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

namespace pe::reinit {
namespace {

/// The deviation per dimension above which the engine has lost singular values: a converged run
/// leaves the rounding error of float32, one lost direction leaves 1/n.
constexpr double kConverged = 1e-9;
/// The deviation per dimension above which a Newton-Schulz step improves the factor, for factors
/// stored in double and in float. Four Halley steps leave an error of up to 1e-8 per element, which
/// matters only in double, and more for singular values that are smaller than estimated.
constexpr double kPolished = 1e-20, kPolishedFloats = 1e-13;
constexpr int kMostPolishing = 2;
constexpr double kJitter = 1e-5;
constexpr int kMaxAttempts = 4;

/// The result of an engine for a tall matrix.
struct Outcome {
  Matrix factor;
  int iterations;
  double deviation; // of the factor as stored
};

double deviationOf(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x, DType stored) {
  Matrix gram;
  if (stored == DType::F64) {
    gramUpper(pool, m, n, x.data(), gram);
    return deviationOfGram(n, gram.data());
  }
  const auto values = std::make_unique_for_overwrite<double[]>(m * n);
  forChunks(pool, m * n, [&](int64_t begin, int64_t end) {
    std::copy(x.begin() + begin, x.begin() + end, &values[begin]);
    roundAll(stored, {&values[begin], static_cast<size_t>(end - begin)});
  });
  gramUpper(pool, m, n, values.get(), gram);
  return deviationOfGram(n, gram.data());
}

/// Returns the polar factor of a tall matrix, or nothing if singular values were lost.
std::optional<Outcome> tallPolarFactor(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                       const Matrix &gram, Engine engine, DType stored,
                                       SpectrumBound &bound) {
  Outcome outcome{};
  if (engine == Engine::Quintic) {
    std::optional<QuinticResult> result = quinticPolar(pool, m, n, x);
    if (!result)
      return std::nullopt;
    outcome.factor = std::move(result->factor);
    outcome.iterations = result->iterations;
  } else {
    std::optional<QdwhResult> result = qdwhPolar(
        pool, m, n, x, gram, bound, stored == DType::F64 ? Accuracy::Double : Accuracy::Float);
    if (!result)
      return std::nullopt;
    outcome.factor = std::move(result->factor);
    outcome.iterations = result->iterations;
  }
  const double size = static_cast<double>(n);
  const DType wide = stored == DType::F64 ? stored : DType::F32;
  outcome.deviation = deviationOf(pool, m, n, outcome.factor, wide);
  if (!(outcome.deviation < kConverged * size)) // also true for NaN
    return std::nullopt;
  const double polished = (stored == DType::F64 ? kPolished : kPolishedFloats) * size;
  for (int i = 0; i < kMostPolishing && engine == Engine::Qdwh && outcome.deviation > polished;
       ++i) {
    outcome.factor = cubicStep(pool, m, n, outcome.factor);
    outcome.deviation = deviationOf(pool, m, n, outcome.factor, wide);
  }
  if (stored != wide)
    outcome.deviation = deviationOf(pool, m, n, outcome.factor, stored);
  return outcome;
}

/// Returns the largest absolute value, or infinity if an element is not finite.
double largestOf(ParallelFor &pool, int64_t count, const double *w) {
  std::vector<double> largest((count + kElementChunk - 1) / kElementChunk);
  forChunks(pool, count, [&](int64_t begin, int64_t end) {
    double most = 0, differences = 0; // x - x is 0, or NaN
    for (int64_t i = begin; i < end; ++i) {
      most = std::max(most, std::abs(w[i]));
      differences += w[i] - w[i];
    }
    largest[begin / kElementChunk] =
        differences == 0 ? most : std::numeric_limits<double>::infinity();
  });
  return *std::max_element(largest.begin(), largest.end());
}

/// Returns x plus seeded noise that is small relative to the largest singular value and covers
/// every direction.
Matrix jittered(int64_t m, const Matrix &x, double sigma, uint64_t seed, int attempt) {
  double deviation = kJitter * sigma / std::sqrt(static_cast<double>(m));
  Random random(seed, "reinit.jitter." + std::to_string(attempt));
  Matrix result = x;
  for (double &value : result)
    value += deviation * random.normal();
  return result;
}

/// Computes `result` for the tall x with its Gram matrix. Returns false if even added noise does
/// not give it full rank.
bool factorise(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x, const Matrix &gram,
               const Settings &settings, DType stored, PolarFactor &result) {
  if (settings.engine == Engine::Cubic) {
    Matrix copy = gram;
    result.rank = blas::rankOfGram(n, copy.data());
    result.factor = cubicSteps(pool, m, n, x, gram, settings.iterations, settings.norm);
    result.iterations = settings.iterations;
    result.deviation = deviationOf(pool, m, n, result.factor, stored);
    return true;
  }
  result.rank = n;
  SpectrumBound bound =
      settings.engine == Engine::Qdwh ? SpectrumBound::Estimated : SpectrumBound::Fixed;
  const auto attempt = [&](const Matrix &from, const Matrix &itsGram) {
    return tallPolarFactor(pool, m, n, from, itsGram, settings.engine, stored, bound);
  };
  std::optional<Outcome> outcome = attempt(x, gram);
  if (!outcome && bound == SpectrumBound::Estimated) {
    bound = SpectrumBound::Fixed;
    outcome = attempt(x, gram);
  }
  if (!outcome) {
    Matrix copy = gram;
    result.rank = blas::rankOfGram(n, copy.data());
    const double sigma = std::sqrt(spectralBound(n, gram));
    for (int i = 0; i < kMaxAttempts && !outcome; ++i) {
      Matrix noisy = jittered(m, x, sigma, settings.seed, i), noisyGram;
      gramUpper(pool, m, n, noisy.data(), noisyGram);
      outcome = attempt(noisy, noisyGram);
    }
  }
  if (!outcome)
    return false;
  result.factor = std::move(outcome->factor);
  result.iterations = outcome->iterations;
  result.deviation = outcome->deviation;
  return true;
}

} // namespace

void roundAll(DType dtype, std::span<double> values) {
  const auto apply = [&](auto round) {
    for (double &value : values)
      value = round(static_cast<float>(value));
  };
  if (dtype == DType::BF16)
    apply([](float value) { return bf16ToFloat(floatToBf16(value)); });
  else if (dtype == DType::F16)
    apply([](float value) { return f16ToFloat(floatToF16(value)); });
  else if (dtype != DType::F64)
    apply([](float value) { return value; });
}

double deviationFromIsometry(int64_t rows, int64_t cols, const double *x, ParallelFor &pool) {
  Matrix flipped, gram;
  if (rows < cols) {
    flipped = transposed(pool, rows, cols, x);
    std::swap(rows, cols);
    x = flipped.data();
  }
  gramUpper(pool, rows, cols, x, gram);
  return deviationOfGram(cols, gram.data());
}

double deviationFromIsometry(int64_t rows, int64_t cols, const double *x) {
  CallingThread pool;
  return deviationFromIsometry(rows, cols, x, pool);
}

Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w,
                                  const Settings &settings, ParallelFor &pool, DType stored) {
  const int64_t count = rows * cols;
  const double largest = largestOf(pool, count, w);
  if (!std::isfinite(largest)) {
    const double *bad = std::find_if_not(w, w + count, [](double x) { return std::isfinite(x); });
    return makeError("expected finite weights, found ", *bad, " at [", (bad - w) / cols, ", ",
                     (bad - w) % cols, "]");
  }
  bool wide = rows < cols;
  int64_t m = wide ? cols : rows, n = wide ? rows : cols;
  PolarFactor result;
  if (largest == 0) {
    result.deviation = result.deviationBefore = static_cast<double>(n);
    return result;
  }
  Matrix x = wide ? transposed(pool, rows, cols, w) : Matrix(count), gram;
  const double *from = wide ? x.data() : w;
  // Scales by a power of two, which is exact, so that the engines do not depend on the scale of the
  // weights.
  const double scale = std::exp2(std::ilogb(largest));
  forChunks(pool, count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      x[i] = from[i] / scale;
  });
  gramUpper(pool, m, n, x.data(), gram);
  result.deviationBefore = deviationOfGram(n, gram.data(), scale * scale);
  if (!factorise(pool, m, n, x, gram, settings, stored, result))
    return makeError("expected a matrix of numerical rank ", n, " after jitter, found rank ",
                     result.rank, "; rescale its rows or columns");
  if (wide)
    result.factor = transposed(pool, m, n, result.factor.data());
  return result;
}

Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w, uint64_t seed) {
  CallingThread pool;
  Settings settings;
  settings.seed = seed;
  return polarFactor(rows, cols, w, settings, pool);
}

} // namespace pe::reinit
