//===- Linear.cpp - A matrix product with weights -------------------------===//
//
// The three products and the packing of weights.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/Linear.h"

namespace pe::train {

void Linear::forward(const Weights &weights, const float *x, float *y, int64_t rows,
                     bool adds) const {
  blas::multiplyPanels(shape(), x, rows, weights.panels + offset, adds, y, rowPitch());
}

void Linear::backwardInput(const float *parameters, const float *dy, float *dx, int64_t rows,
                           bool adds) const {
  blas::multiply(rows, inputs, outputs, dy, rowPitch(), parameters + offset, inputs, adds, dx,
                 inputs);
}

void Linear::backwardWeights(float *gradients, const float *x, const float *dy, int64_t rows,
                             const WeightPart &part, bool adds) const {
  blas::multiplyTransposed(part.outputs, part.inputs, rows, dy + part.output, rowPitch(),
                           x + part.input, inputs, adds,
                           gradients + offset + part.output * inputs + part.input, inputs);
}

void Linear::pack(const float *parameters, int64_t begin, int64_t end, float *panels) const {
  blas::packPanels(shape(), parameters + offset, begin, end, panels + offset);
}

} // namespace pe::train
