//===- Mlp.h - The feed-forward layer ---------------------------*- C++ -*-===//
//
// x += activation(norm(x) W1^T) W2^T on the residual stream x[tokens, dim], or with a gate x +=
// activation(norm(x) W1^T, norm(x) W3^T) W2^T.
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
  /// Adds the parameters "PREFIX.w1" [hidden, dim], with a gate "PREFIX.w3" of the same shape, and
  /// "PREFIX.w2" [dim, hidden].
  Mlp(const std::string &prefix, int64_t dim, int64_t hidden, bool gated, ParameterLayout &layout);

  /// Allocates the activations for this many tokens.
  void reserve(int64_t tokens);
  /// Shares the memory of a layer whose activations are not needed at the same time.
  void useMemoryOf(const Mlp &other);
  /// Sets the dropout on the layer's output in the following calls.
  void setDropout(const Dropout &drawn) { dropout = drawn; }

  void forward(const Kernels &kernels, const Weights &weights, const Piece &piece, float *x);
  /// On entry `dx` is the gradient of the stream after this layer, on return the gradient before
  /// it.
  void backward(const Kernels &kernels, const float *parameters, const Piece &piece, float *dx);
  /// Computes the mean |activation| of every neuron over the first `tokens` rows.
  void measureActivity(int64_t tokens, ParallelFor &parallel);
  const std::vector<double> &activity() const { return meanActivity; }
  /// Returns every matrix that the layer multiplies by.
  std::vector<Linear> linears() const { return {up, down}; }
  /// Returns the weight gradients, ready when every piece went through `backward`.
  std::vector<WeightProduct> weightProducts() const;

private:
  void activate(const Kernels &kernels, const Piece &piece);
  void activateBackward(const Kernels &kernels, const Piece &piece);

  int64_t dim, hidden;
  bool gated;
  Dropout dropout;
  Linear up, down;
  std::vector<double> meanActivity;
  /// Per token: norm(x), 1 / rms(x), norm(x) W1^T followed by norm(x) W3^T, and the activation.
  /// Gradients: of the activation in `dActive`, of the products in `dRaw`, of norm(x) in `dNormed`,
  /// and of the layer's output in `dResult`. Without a gate `dRaw` shares the memory of `dActive`.
  Tensor normed, inverse, raw, active, dActive, dRaw, dNormed, dResult;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_MLP_H
