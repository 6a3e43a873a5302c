//===- OutputHead.h - From the residual stream to the loss ------*- C++ -*-===//
//
// logits = norm(x) W^T, and the cross-entropy of each next token in nats.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_OUTPUTHEAD_H
#define PE_RUNTIME_TRAIN_MODEL_OUTPUTHEAD_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/WeightGradients.h"

namespace pe::train {

class OutputHead {
public:
  /// Adds "head" [vocabulary, dim].
  OutputHead(int64_t dim, int64_t vocabulary, ParameterLayout &layout);

  void reserve(int64_t tokens);

  /// The loss of every token of the piece; their gradients, for a total of `scale` times the sum of
  /// the losses, replace the logits.
  void forward(const Kernels &kernels, const float *parameters, const Piece &piece, const float *x,
               const int32_t *targets, float scale);
  /// Overwrites `dx` with the gradient of the stream.
  void backward(const Kernels &kernels, const float *parameters, const Piece &piece, float *dx);
  /// The weights' gradient, ready when every piece went through `backward`.
  WeightProduct weightProduct() const {
    return {linear, normed.data<float>(), logits.data<float>()};
  }

  const float *losses() const { return loss.data<float>(); }

private:
  int64_t dim, vocabulary;
  Linear linear;
  Tensor normed, inverse, logits, loss, dNormed;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_OUTPUTHEAD_H
