//===- Linear.h - A matrix product with weights -----------------*- C++ -*-===//
//
// y = x W^T for W[outputs, inputs] without bias, and its two gradients, on the calling thread; rows
// are tokens. The forward product reads the weights in another order (blas::PanelShape), in which
// they are written once for all pieces of a batch.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_LINEAR_H
#define PE_RUNTIME_TRAIN_MODEL_LINEAR_H

#include "runtime/train/blas/Products.h"

namespace pe::train {

/// A part of a weight matrix: outputs [output, output + outputs), and the same for inputs.
struct WeightPart {
  int64_t output = 0, outputs = 0, input = 0, inputs = 0;
};

/// The parameters of a model as they are, and the panels of its matrices, at the same places.
struct Weights {
  const float *values;
  const float *panels;
};

struct Linear {
  /// Where the weights begin in a block of parameters or gradients.
  int64_t offset = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;
  /// From one row of y to the next; 0: rows lie side by side.
  int64_t pitch = 0;

  /// y[rows, outputs] = x[rows, inputs] W^T, or plus what y holds
  void forward(const Weights &weights, const float *x, float *y, int64_t rows,
               bool adds = false) const;
  /// dx = dy W, or plus what dx holds
  void backwardInput(const float *parameters, const float *dy, float *dx, int64_t rows,
                     bool adds = false) const;
  /// dW = dy^T x, or plus what dW holds, for a part of the matrix
  void backwardWeights(float *gradients, const float *x, const float *dy, int64_t rows,
                       const WeightPart &part, bool adds) const;
  /// Writes panels [begin, end) of the weights.
  void pack(const float *parameters, int64_t begin, int64_t end, float *panels) const;
  blas::PanelShape shape() const { return {outputs, inputs}; }
  int64_t rowPitch() const { return pitch ? pitch : outputs; }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_LINEAR_H
