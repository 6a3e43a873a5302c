//===- Linear.h - A matrix product with weights -----------------*- C++ -*-===//
//
// y = x W^T for W[outputs, inputs] without bias, and its two gradients; rows are tokens. All calls
// are single-threaded. The forward product reads the weights as panels (blas::PanelShape), which
// are packed once for all pieces of a batch.
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

/// The parameters of a model, and the panels of its matrices at the same offsets.
struct Weights {
  const float *values;
  const float *panels;
};

struct Linear {
  /// The offset of the weights in a block of parameters or gradients.
  int64_t offset = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;
  /// The row stride of y; 0 means that rows are contiguous.
  int64_t pitch = 0;

  /// Computes y[rows, outputs] = x[rows, inputs] W^T; adds to y if `adds` is set.
  void forward(const Weights &weights, const float *x, float *y, int64_t rows,
               bool adds = false) const;
  /// Computes dx = dy W; adds to dx if `adds` is set.
  void backwardInput(const float *parameters, const float *dy, float *dx, int64_t rows,
                     bool adds = false) const;
  /// Computes a part of dW = dy^T x; adds to dW if `adds` is set.
  void backwardWeights(float *gradients, const float *x, const float *dy, int64_t rows,
                       const WeightPart &part, bool adds) const;
  /// Packs panels [begin, end) of the weights.
  void pack(const float *parameters, int64_t begin, int64_t end, float *panels) const;
  blas::PanelShape shape() const { return {outputs, inputs}; }
  int64_t rowPitch() const { return pitch ? pitch : outputs; }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_LINEAR_H
