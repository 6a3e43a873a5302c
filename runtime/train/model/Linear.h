//===- Linear.h - A matrix product with weights -----------------*- C++ -*-===//
//
// y = x W^T for W[outputs, inputs] without bias, and its two gradients. OpenBLAS on the calling
// thread; rows are tokens.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_LINEAR_H
#define PE_RUNTIME_TRAIN_MODEL_LINEAR_H

#include <cstdint>

namespace pe::train {

/// A part of a weight matrix: outputs [output, output + outputs), and the same for inputs.
struct WeightPart {
  int64_t output = 0, outputs = 0, input = 0, inputs = 0;
};

struct Linear {
  /// Where the weights begin in a block of parameters or gradients.
  int64_t offset = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;
  /// From one row of y to the next; 0: rows lie side by side.
  int64_t pitch = 0;

  /// y[rows, outputs] = x[rows, inputs] W^T + beta y
  void forward(const float *parameters, const float *x, float *y, int64_t rows,
               float beta = 0) const;
  /// dx = dy W + beta dx
  void backwardInput(const float *parameters, const float *dy, float *dx, int64_t rows,
                     float beta = 0) const;
  /// dW = dy^T x + beta dW, for a part of the matrix
  void backwardWeights(float *gradients, const float *x, const float *dy, int64_t rows,
                       const WeightPart &part, float beta) const;
  int64_t rowPitch() const { return pitch ? pitch : outputs; }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_LINEAR_H
