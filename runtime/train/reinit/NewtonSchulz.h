//===- NewtonSchulz.h - Orthogonalization by matrix products ----*- C++ -*-===//
//
// Odd polynomials in float32 that move the singular values of a matrix towards one:
//
//   X <- a X + b (X X^T) X + c (X X^T)^2 X
//
// The matrix is first divided by its Frobenius norm, so that no singular value exceeds one.
// Products with X X^T are computed on the smaller side, and symmetric products cost about half of a
// general product. The result is not the exact polar factor (see Polar.h): a fixed number of steps
// leaves the singular values in an interval around one.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_NEWTONSCHULZ_H
#define PE_RUNTIME_TRAIN_REINIT_NEWTONSCHULZ_H

#include "runtime/train/blas/Blas.h"

#include <cstdint>
#include <span>

namespace pe::reinit {

/// The coefficients of one step.
struct QuinticStep {
  double a, b, c;
};

/// A published sequence of steps.
struct QuinticSteps {
  std::span<const QuinticStep> steps;
  /// The matrix is divided by its Frobenius norm times this.
  double margin;
};

/// Returns the five equal steps of K. Jordan et al. 2024 ("Muon"). Singular values stay in [0.68,
/// 1.14].
QuinticSteps muonSteps();
/// Returns five steps of Amsel et al. 2025 ("The Polar Express"), each optimal for the interval
/// that the previous step leaves. Singular values above 1 grow fast, hence the margin of 1%.
QuinticSteps polarExpressSteps();

/// Applies the steps to x[rows, cols] of any shape and scale, in place. A zero matrix stays zero;
/// elements must be finite. Single-threaded. Requires blas::load().
void newtonSchulz(int64_t rows, int64_t cols, float *x, const QuinticSteps &steps);

/// Computes c[n,n] = a[n,k] b[k,n] for a symmetric product: computes the tiles of the upper
/// triangle and mirrors them.
void symmetricProduct(int64_t n, int64_t k, blas::Operand<float> a, blas::Operand<float> b,
                      float *c);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_NEWTONSCHULZ_H
