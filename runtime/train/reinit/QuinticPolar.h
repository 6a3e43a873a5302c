//===- QuinticPolar.h - Polar factors by matrix products --------*- C++ -*-===//
//
// Newton-Schulz with polynomials of degree five in float32, for devices that are fast only at
// matrix products. A step costs two symmetric products (G = X^T X and G^2, half a product each) and
// one general product:
//
//   X <- X (a I + b G + c G^2)
//
// a, b, c are the best uniform approximation of 1 on [l, u], where twelve Lanczos steps on G bound
// the spectrum. An interval wider than 1:10 is treated as 1:10 and centered, which keeps float32
// accurate (Amsel et al. 2025, "Polar Express", calls it a cushion). A lower bound of the singular
// values that float32 can represent is mapped through the polynomial of each step, so at most a
// dozen steps are needed. The last steps use Taylor's quintic.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_QUINTICPOLAR_H
#define PE_RUNTIME_TRAIN_REINIT_QUINTICPOLAR_H

#include "runtime/train/reinit/Dense.h"

#include <optional>

namespace pe::reinit {

/// The polynomial a x + b x^3 + c x^5.
struct Quintic {
  double a, b, c;

  double operator()(double x) const { return x * (a + x * x * (b + x * x * c)); }
};

/// Returns the quintic with the smallest maximum error to 1 on [l, 1], 0 < l <= 1.
Quintic nearestToOne(double l);

struct QuinticResult {
  Matrix factor;
  int iterations;
};

/// Returns the polar factor of x[m, n], m >= n, computed in float32, or nothing if singular values
/// were lost.
std::optional<QuinticResult> quinticPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_QUINTICPOLAR_H
