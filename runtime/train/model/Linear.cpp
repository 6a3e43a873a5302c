//===- Linear.cpp - A matrix product with weights -------------------------===//
//
// Three calls of gemm.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/Linear.h"
#include "runtime/train/blas/Blas.h"

namespace pe::train {

using blas::Transpose;

void Linear::forward(const float *parameters, const float *x, float *y, int64_t rows,
                     float beta) const {
  blas::gemm(rows, outputs, inputs, {x, inputs}, {parameters + offset, inputs, Transpose::Yes},
             beta, y, rowPitch());
}

void Linear::backwardInput(const float *parameters, const float *dy, float *dx, int64_t rows,
                           float beta) const {
  blas::gemm(rows, inputs, outputs, {dy, rowPitch()}, {parameters + offset, inputs}, beta, dx,
             inputs);
}

void Linear::backwardWeights(float *gradients, const float *x, const float *dy, int64_t rows,
                             const WeightPart &part, float beta) const {
  blas::gemm(part.outputs, part.inputs, rows, {dy + part.output, rowPitch(), Transpose::Yes},
             {x + part.input, inputs}, beta, gradients + offset + part.output * inputs + part.input,
             inputs);
}

} // namespace pe::train
