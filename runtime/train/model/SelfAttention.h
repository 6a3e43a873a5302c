//===- SelfAttention.h - The attention layer --------------------*- C++ -*-===//
//
// x += attention(norm(x) Wq^T, norm(x) Wk^T, norm(x) Wv^T) Wo^T, on the residual stream. The parts
// before and after the attention itself work piece by piece; the attention, compiled by pe, works
// on the whole batch. Query, key and value weights are adjacent and form one matrix product.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_SELFATTENTION_H
#define PE_RUNTIME_TRAIN_MODEL_SELFATTENTION_H

#include "runtime/train/data/Batches.h"
#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/Dropout.h"
#include "runtime/train/model/EncodingParameters.h"
#include "runtime/train/model/ProjectedInputs.h"
#include "runtime/train/model/WeightGradients.h"

#include <array>

namespace pe::train {

struct HeadShape {
  int64_t heads = 0, keyHeads = 0, headDim = 0;
};

class SelfAttention {
public:
  /// Adds the layer's "layerN.attention.wq" [heads * headDim, dim], ".wk", ".wv", ".wo", what the
  /// encoding reads of its input (ProjectedInputs.h), and the encoding's parameters as
  /// "layerN.attention.bias.NAME", or for all layers together "shared.bias.NAME".
  SelfAttention(int64_t layer, int64_t dim, HeadShape shape, bool shareEncoding,
                std::unique_ptr<AttentionFunction> function, ParameterLayout &layout);

  /// Replaces the attention by another; false if that reads other parameters or inputs.
  bool replace(std::unique_ptr<AttentionFunction> other);

  void reserve(int64_t tokens);
  /// Or uses the memory of a layer whose activations are not needed at the same time, but for what
  /// `reserveOwn` makes room for.
  void useMemoryOf(const SelfAttention &other);
  void reserveOwn(int64_t tokens) { projected.reserve(tokens); }
  /// What falls out of the layer's result in the next calls.
  void setDropout(const Dropout &drawn) { dropout = drawn; }

  // Forward, in this order: `project` for every piece, `attend`, `combine` for every piece.
  void project(const Kernels &kernels, const Weights &weights, const Piece &piece, int64_t length,
               const float *x);
  Status attend(const float *parameters, const Batch &batch);
  void combine(const Weights &weights, const Piece &piece, float *x);

  // Backward, in the opposite order. `dx` is the gradient of the stream after this layer on entry,
  // before it on return.
  void combineBackward(const float *parameters, const Piece &piece, const float *dx);
  Status attendBackward(const float *parameters, const Batch &batch);
  void projectBackward(const Kernels &kernels, const float *parameters, const Piece &piece,
                       int64_t length, float *dx);
  /// The gradient of wo, ready when every piece went through `combineBackward` with this `dx`.
  WeightProduct outputProduct(const float *dx) const {
    return {output, merged.data<float>(), dropout.isOn() ? branch.data<float>() : dx};
  }
  /// Those of everything that norm(x) is multiplied by, ready when every piece went through
  /// `projectBackward`.
  std::vector<WeightProduct> projectionProducts() const;
  void storeBiasGradients(int64_t tokens, GradientUse use, float *gradients) const {
    projected.storeBiases(tokens, use, gradients);
  }
  /// Writes or adds the gradients of the encoding's parameters, computed by attendBackward.
  void storeEncodingGradients(GradientUse use, float *gradients) const {
    encoding.store(use, gradients);
  }

  /// Whether a query's result changes with a later key, tried on random numbers.
  Expected<bool> looksAhead(const float *parameters);

  /// Every matrix that the layer multiplies by.
  std::vector<Linear> linears() const;
  /// Indices of the encoding's parameters in the layout, as AttentionFunction lists them.
  const std::vector<int64_t> &encodingParameters() const { return encoding.indices(); }
  const AttentionFunction &attention() const { return *function; }

private:
  template <typename Float> std::array<HeadRows<Float>, 3> partsOf(Float *rows) const;
  AttentionInputs inputs(const float *parameters, const Batch &batch) const;

  int64_t layer, dim;
  HeadShape shape;
  std::unique_ptr<AttentionFunction> function;
  Dropout dropout;
  Linear projection, output;
  ProjectedInputs projected;
  EncodingParameters encoding;
  /// Per token: norm(x), 1 / rms(x); q, k and v side by side, and their gradients; the attention's
  /// result with its heads side by side, the gradients of that and of norm(x).
  Tensor normed, inverse, packed, dPacked, merged, dMerged, dNormed;
  /// What is added to the stream, and the gradient of that, where some of it falls out.
  Tensor branch;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_SELFATTENTION_H
