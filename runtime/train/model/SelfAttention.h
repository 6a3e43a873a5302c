//===- SelfAttention.h - The attention layer --------------------*- C++ -*-===//
//
// x += attention(norm(x) Wq^T, norm(x) Wk^T, norm(x) Wv^T) Wo^T, on the residual stream. The parts
// before and after the attention itself work piece by piece; the attention, compiled by pe, works
// on the entire batch. Query, key and value weights are adjacent and form one matrix product.
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
  /// Adds the layer's "layerN.attention.wq" [heads * headDim, dim], ".wk", ".wv" and ".wo", the
  /// projected inputs of the encoding (ProjectedInputs.h), and the encoding's parameters as
  /// "layerN.attention.bias.NAME", or as "shared.bias.NAME" if all layers share them.
  SelfAttention(int64_t layer, int64_t dim, HeadShape shape, bool shareEncoding,
                std::unique_ptr<AttentionFunction> function, ParameterLayout &layout);

  /// Replaces the attention. Returns false if the other one has different parameters or inputs.
  bool replace(std::unique_ptr<AttentionFunction> other);

  void reserve(int64_t tokens);
  /// Shares the memory of a layer whose activations are not needed at the same time, except for the
  /// buffers that `reserveOwn` allocates.
  void useMemoryOf(const SelfAttention &other);
  void reserveOwn(int64_t tokens) { projected.reserve(tokens); }
  /// Sets the dropout on the layer's output in the following calls.
  void setDropout(const Dropout &drawn) { dropout = drawn; }

  // Forward, in this order: `project` for every piece, `attend`, `combine` for every piece.
  void project(const Kernels &kernels, const Weights &weights, const Piece &piece, int64_t length,
               const float *x);
  Status attend(const float *parameters, const Batch &batch);
  void combine(const Weights &weights, const Piece &piece, float *x);

  // Backward, in the opposite order. On entry `dx` is the gradient of the stream after this layer,
  // on return the gradient before it.
  void combineBackward(const float *parameters, const Piece &piece, const float *dx);
  Status attendBackward(const float *parameters, const Batch &batch);
  void projectBackward(const Kernels &kernels, const float *parameters, const Piece &piece,
                       int64_t length, float *dx);
  /// Returns the gradient of wo, ready when every piece went through `combineBackward` with this
  /// `dx`.
  WeightProduct outputProduct(const float *dx) const {
    return {output, merged.data<float>(), dropout.isOn() ? branch.data<float>() : dx};
  }
  /// Returns the gradients of all matrices that multiply norm(x), ready when every piece went
  /// through `projectBackward`.
  std::vector<WeightProduct> projectionProducts() const;
  void storeBiasGradients(int64_t tokens, GradientUse use, float *gradients) const {
    projected.storeBiases(tokens, use, gradients);
  }
  /// Writes or adds the gradients of the encoding's parameters, computed by attendBackward.
  void storeEncodingGradients(GradientUse use, float *gradients) const {
    encoding.store(use, gradients);
  }

  /// Tests with random inputs whether the result of a query depends on a later key.
  Expected<bool> looksAhead(const float *parameters);

  /// Returns every matrix that the layer multiplies by.
  std::vector<Linear> linears() const;
  /// Returns the indices of the encoding's parameters in the layout, in the order of
  /// AttentionFunction.
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
  /// Per token: norm(x), 1 / rms(x); q, k and v as one row, and their gradients; the result of
  /// attention with its heads concatenated, and the gradients of that and of norm(x).
  Tensor normed, inverse, packed, dPacked, merged, dMerged, dNormed;
  /// With dropout: the output that is added to the stream, and later its gradient.
  Tensor branch;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_SELFATTENTION_H
