//===- FloatFinish.h - The end of a polar iteration in floats ---*- C++ -*-===//
//
// What a factor that is stored in 32 bits or fewer needs of the last Halley steps. With
// E = I - X^T X, computed in double,
//
//   X (X^T X)^-1/2 = X + X P,     P = (I - E)^-1/2 - I = E/2 + 3/8 E^2 + 5/16 E^3 + ...
//
// P is small, so floats are enough for it and for X P: what they round is a share of the
// correction. Products of floats run at twice the rate of products of doubles and there is no
// factorisation. The polynomial is near the best one for the spectrum of E, which is [0, 1 - l^2]
// if that of X is [l, 1].
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_FLOATFINISH_H
#define PE_RUNTIME_TRAIN_REINIT_FLOATFINISH_H

#include "runtime/train/reinit/Dense.h"

namespace pe::reinit {

/// The coefficients c of a polynomial c[0] E + c[1] E^2 + ... which leaves singular values in
/// [l, 1] within 2e-8 of 1, the fewest of those that are worth computing. Empty: there is none.
std::vector<double> finishingPolynomial(double l);

/// X + X P for the square x[n,n] with singular values in [l, 1]; finishingPolynomial(l) exists.
void finishInFloats(ParallelFor &pool, int64_t n, double l, Matrix &x);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_FLOATFINISH_H
