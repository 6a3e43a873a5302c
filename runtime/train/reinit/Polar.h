//===- Polar.h - The orthogonal polar factor of a matrix --------*- C++ -*-===//
//
// W = U P, where U has orthonormal columns (rows, if W is wide) and P is symmetric positive
// semidefinite. U is the isometry nearest to W, and equals U V^T of its singular value
// decomposition. The engines (Qdwh.h, QuinticPolar.h, CubicPolar.h) work on tall matrices. This
// file adds scaling, transposition, and the completion of rank-deficient matrices.
//
// A rank-deficient matrix has many polar factors, all equally close. Adding a small seeded random
// matrix (1e-5 sigma / sqrt(max(m, n))) first selects one of them.
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
  /// [rows, cols], row-major. Empty for a zero matrix, which has no nearest isometry. For Cubic,
  /// the result of its steps.
  std::vector<double> factor;
  /// The number of steps in one run of the engine.
  int iterations = 0;
  /// The numerical rank of the input. If it is less than min(rows, cols), Qdwh and Quintic complete
  /// the factor as described above.
  int64_t rank = 0;
  /// |X^T X - I|_F^2 on the smaller side, for the input and for the factor as it would be stored.
  double deviationBefore = 0, deviation = 0;
};

/// Computes the polar factor of w[rows, cols], both at least 1, with the engine of `settings`. An
/// element that is not finite is an error that gives its position. Requires blas::load(). If
/// `stored` is narrower than f64, the factor is computed only to the accuracy of that type.
Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w,
                                  const Settings &settings, ParallelFor &pool,
                                  DType stored = DType::F64);

/// Uses the default engine on the calling thread.
Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w, uint64_t seed);

/// Returns the deviation from isometry |X^T X - I|_F^2 of x[rows, cols], on the smaller side.
double deviationFromIsometry(int64_t rows, int64_t cols, const double *x, ParallelFor &pool);
double deviationFromIsometry(int64_t rows, int64_t cols, const double *x);

/// Rounds values to the given floating-point type.
void roundAll(DType dtype, std::span<double> values);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_POLAR_H
