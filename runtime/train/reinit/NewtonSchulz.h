//===- NewtonSchulz.h - Orthogonalisation by products alone -----*- C++ -*-===//
//
// Odd polynomials that drive the singular values of a matrix towards one, in float32:
//
//   X <- a X + b (X X^T) X + c (X X^T)^2 X
//
// The matrix is first divided by its Frobenius norm, so that no singular value exceeds one. The
// products with X X^T are made on the smaller side, and those of symmetric matrices cost about half
// of a general product. This is not an exact polar factor (that is Polar.h): a fixed number of
// steps leaves the singular values in a band around one.
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

/// A published list of steps.
struct QuinticSteps {
  std::span<const QuinticStep> steps;
  /// The matrix is divided by this times its Frobenius norm.
  double margin;
};

/// Five equal steps of K. Jordan et al. 2024 ("Muon"): singular values in [0.68, 1.14] for ever.
QuinticSteps muonSteps();
/// Five steps of Amsel et al. 2025 ("The Polar Express"), each the best for what the step before
/// left; above 1 they grow fast, hence a margin of 1 %.
QuinticSteps polarExpressSteps();

/// Applies the steps to x[rows, cols] in place, whatever its shape and scale. A zero matrix stays
/// zero; elements must be finite. Runs on the calling thread. Needs blas::load().
void newtonSchulz(int64_t rows, int64_t cols, float *x, const QuinticSteps &steps);

/// c[n,n] = a[n,k] b[k,n] for a product that is symmetric: tiles of the upper triangle are computed
/// and mirrored.
void symmetricProduct(int64_t n, int64_t k, blas::Operand<float> a, blas::Operand<float> b,
                      float *c);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_NEWTONSCHULZ_H
