//===- CubicPolar.h - The published Newton-Schulz operators -----*- C++ -*-===//
//
// X <- 1.5 X - 0.5 X X^T X, exactly as often as asked for, on a matrix divided by its Frobenius
// norm (Han et al. 2026: 10 steps, 5 for language models) or by its largest singular value. Ten
// steps rarely reach an isometry: small singular values grow by 1.5 per step. The published results
// are those of this operator.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_CUBICPOLAR_H
#define PE_RUNTIME_TRAIN_REINIT_CUBICPOLAR_H

#include "pe/reinit.h"
#include "runtime/train/reinit/Dense.h"

namespace pe::reinit {

/// `iterations` steps on x[m, n], m >= n, whose Gram matrix (upper triangle) is `gram`, in double.
Matrix cubicSteps(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x, Matrix gram,
                  int iterations, Norm norm);

/// One step on x[m, n] as it is: squares a small deviation from isometry.
Matrix cubicStep(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_CUBICPOLAR_H
