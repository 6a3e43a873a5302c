//===- Mlp.h - The feed-forward layer ---------------------------*- C++ -*-===//
//
// x += activation(norm(x) W1^T) W2^T, or with a gate x += activation(norm(x) W1^T, norm(x) W3^T)
// W2^T, on the residual stream x[tokens, dim].
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_MLP_H
#define PE_RUNTIME_TRAIN_MODEL_MLP_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/Dropout.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/WeightGradients.h"

namespace pe::train {

class Mlp {
public:
  /// Adds its parameters "PREFIX.w1" [hidden, dim], where it has a gate "PREFIX.w3" of the same
  /// shape, and "PREFIX.w2" [dim, hidden].
  Mlp(const std::string &prefix, int64_t dim, int64_t hidden, bool gated, ParameterLayout &layout);

  /// Makes room for the activations of that many tokens.
  void reserve(int64_t tokens);
  /// Or uses that of a layer whose activations are not needed at the same time.
  void useMemoryOf(const Mlp &other);
  /// What falls out of the layer's result in the next calls.
  void setDropout(const Dropout &drawn) { dropout = drawn; }

  void forward(const Kernels &kernels, const Weights &weights, const Piece &piece, float *x);
  /// `dx` is the gradient of the stream after this layer on entry, before it on return.
  void backward(const Kernels &kernels, const float *parameters, const Piece &piece, float *dx);
  /// Computes the mean |activation| of every neuron over the first `tokens` rows.
  void measureActivity(int64_t tokens, ParallelFor &parallel);
  const std::vector<double> &activity() const { return meanActivity; }
  /// The weights' gradients, ready when every piece went through `backward`.
  /// Every matrix that the layer multiplies by.
  std::vector<Linear> linears() const { return {up, down}; }
  std::vector<WeightProduct> weightProducts() const;

private:
  void activate(const Kernels &kernels, const Piece &piece);
  void activateBackward(const Kernels &kernels, const Piece &piece);

  int64_t dim, hidden;
  bool gated;
  Dropout dropout;
  Linear up, down;
  std::vector<double> meanActivity;
  /// Per token: norm(x), 1 / rms(x), norm(x) W1^T and beside it norm(x) W3^T, the activation; the
  /// gradients of the last in `dActive`, of the products in `dRaw`, of the first in `dNormed`, of
  /// the layer's result in `dResult`. Without a gate `dRaw` is the memory of `dActive`.
  Tensor normed, inverse, raw, active, dActive, dRaw, dNormed, dResult;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_MLP_H
