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

struct Linear {
  /// Where the weights begin in a block of parameters or gradients.
  int64_t offset = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;

  /// y[rows, outputs] = x[rows, inputs] W^T + beta y
  void forward(const float *parameters, const float *x, float *y, int64_t rows,
               float beta = 0) const;
  /// dx = dy W + beta dx
  void backwardInput(const float *parameters, const float *dy, float *dx, int64_t rows,
                     float beta = 0) const;
  /// dW += dy^T x
  void backwardWeights(float *gradients, const float *x, const float *dy, int64_t rows) const;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_LINEAR_H
