//===- QuinticPolar.h - Polar factors by products alone ---------*- C++ -*-===//
//
// Newton-Schulz with polynomials of degree five, in float32, for devices that are fast at products
// and nothing else. A step costs two symmetric products (G = X^T X and G^2, half of each) and one
// full one:
//
//   X <- X (a I + b G + c G^2)
//
// a, b, c are the best uniform approximation of 1 on [l, u], where twelve Lanczos steps on G bound
// the spectrum. An interval wider than 1:10 is treated as 1:10 and centred, which keeps float32
// accurate (Amsel et al. 2025, "Polar Express", calls it a cushion). A floor below which no
// singular value that float32 can represent can lie rises with each step by the polynomial itself,
// so at most a dozen steps are needed; Taylor's quintic does the last ones.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_QUINTICPOLAR_H
#define PE_RUNTIME_TRAIN_REINIT_QUINTICPOLAR_H

#include "runtime/train/reinit/Dense.h"

#include <optional>

namespace pe::reinit {

/// a x + b x^3 + c x^5.
struct Quintic {
  double a, b, c;

  double operator()(double x) const { return x * (a + x * x * (b + x * x * c)); }
};

/// The polynomial nearest to 1 on [l, 1] in the largest error, 0 < l <= 1.
Quintic nearestToOne(double l);

struct QuinticResult {
  Matrix factor;
  int iterations;
};

/// The polar factor of x[m, n], m >= n, computed in float32; nothing if singular values were lost.
std::optional<QuinticResult> quinticPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_QUINTICPOLAR_H
