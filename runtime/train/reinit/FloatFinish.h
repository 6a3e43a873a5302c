//===- FloatFinish.h - The last steps of a polar iteration in float32 -*- C++ -*-===//
//
// Replaces the last Halley steps for a factor that is stored in 32 bits or fewer. With E = I - X^T
// X, computed in double,
//
//   X (X^T X)^-1/2 = X + X P,     P = (I - E)^-1/2 - I = E/2 + 3/8 E^2 + 5/16 E^3 + ...
//
// P is small, so float32 suffices for P and for X P: rounding errors are relative to the
// correction, not to X. float32 products run at twice the rate of float64 products, and no
// factorization is needed. The polynomial is close to the best approximation on the spectrum of E,
// which is [0, 1 - l^2] if the singular values of X are in [l, 1].
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_FLOATFINISH_H
#define PE_RUNTIME_TRAIN_REINIT_FLOATFINISH_H

#include "runtime/train/reinit/Dense.h"

namespace pe::reinit {

/// Returns the coefficients c of the polynomial c[0] E + c[1] E^2 + ... of lowest degree that maps
/// singular values in [l, 1] to within 2e-8 of 1. Returns an empty vector if the required degree is
/// not worth computing.
std::vector<double> finishingPolynomial(double l);

/// Computes X + X P for the square x[n,n] with singular values in [l, 1]. Requires that
/// finishingPolynomial(l) is not empty.
void finishInFloats(ParallelFor &pool, int64_t n, double l, Matrix &x);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_FLOATFINISH_H
