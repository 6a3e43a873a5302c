//===- CosineSum.h - pe.cosine_sum_eval and its derivative -------*- C++ -*-===//
//
// `pe.cosine_sum_eval` is the sum of cos(f_k x) over k = 1..n with f_k = base^(-k / n). A short sum
// is unrolled with constant frequencies. A long one is a loop, so that the code size does not grow
// with n; it carries the frequency in f64, and each step multiplies it by f_1:
//
//   sum = 0; f = f_1                         the derivative: sum of -f_k sin(f_k x)
//   for k in [0, n):
//     sum += cos(float(f) * x); f *= f_1
//
// After 4096 steps f has a relative error below 2^-40, so float(f) is the float nearest to f_k. If
// f_k is within this error of the midpoint of two floats, float(f) may be the other one.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_COSINESUM_H
#define PE_PASSES_TRANSFORMS_COSINESUM_H

#include "mlir/IR/Builders.h"

namespace mlir::pe {

class CosineSumEvalOp;

/// Emits the value of `op` at the emitted `x`, whose type is the float type of the computation.
Value emitCosineSum(CosineSumEvalOp op, Value x, OpBuilder &builder);

/// Emits the derivative of `op` at `x`.
Value emitCosineSumSlope(CosineSumEvalOp op, Value x, OpBuilder &builder);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_COSINESUM_H
