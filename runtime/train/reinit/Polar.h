//===- Polar.h - The orthogonal polar factor of a matrix --------*- C++ -*-===//
//
// W = U P with U having orthonormal columns (rows, if W is wide) and P symmetric positive
// semidefinite: U is the isometry nearest to W, and U V^T of its singular value decomposition.
// The engines (Qdwh.h, QuinticPolar.h, CubicPolar.h) work on tall matrices; here are scaling,
// transposition, and the completion of matrices that are rank deficient.
//
// A rank-deficient matrix has many polar factors, all equally close; one is chosen by first adding
// a small seeded random matrix (1e-5 sigma / sqrt(max(m, n))).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_POLAR_H
#define PE_RUNTIME_TRAIN_REINIT_POLAR_H

#include "pe/Error.h"
#include "pe/reinit.h"
#include "runtime/train/reinit/Dense.h"

#include <cstdint>
#include <span>
#include <vector>

namespace pe::reinit {

struct PolarFactor {
  /// [rows, cols], row-major. Empty for a zero matrix, which has no nearest isometry. Of Cubic,
  /// what its steps reach.
  std::vector<double> factor;
  /// Steps of one run of the engine.
  int iterations = 0;
  /// Numerical rank of the input; below min(rows, cols) Qdwh and Quintic complete the factor as
  /// described above.
  int64_t rank = 0;
  /// |X^T X - I|_F^2 on the smaller side, of the input and of the factor as it would be stored.
  double deviationBefore = 0, deviation = 0;
};

/// The polar factor of w[rows, cols], both at least 1, by the engine of `settings`. An element that
/// is not finite is an error naming its place. Needs blas::load(). A factor that will be stored as
/// a narrower type than f64 is spared the last digits of a double.
Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w,
                                  const Settings &settings, ParallelFor &pool,
                                  DType stored = DType::F64);

/// By the default engine, on the calling thread.
Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w, uint64_t seed);

/// The deviation from isometry |X^T X - I|_F^2 of x[rows, cols], on the smaller side.
double deviationFromIsometry(int64_t rows, int64_t cols, const double *x, ParallelFor &pool);
double deviationFromIsometry(int64_t rows, int64_t cols, const double *x);

/// Replaces values by what elements of that floating type hold.
void roundAll(DType dtype, std::span<double> values);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_POLAR_H
