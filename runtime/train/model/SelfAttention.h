//===- SelfAttention.h - The attention layer --------------------*- C++ -*-===//
//
// x += attention(norm(x) Wq^T, norm(x) Wk^T, norm(x) Wv^T) Wo^T, on the residual stream. The parts
// before and after the attention itself work piece by piece; the attention, compiled by pe, works
// on the whole batch. Query, key and value weights are adjacent and form one matrix product.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_SELFATTENTION_H
#define PE_RUNTIME_TRAIN_MODEL_SELFATTENTION_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/AttentionFunction.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/WeightGradients.h"

namespace pe::train {

struct HeadShape {
  int64_t heads = 0, keyHeads = 0, headDim = 0;
};

class SelfAttention {
public:
  /// Adds "PREFIX.wq" [heads * headDim, dim], ".wk", ".wv", ".wo" and the encoding's parameters as
  /// "PREFIX.bias.NAME".
  SelfAttention(const std::string &prefix, int64_t dim, HeadShape shape,
                std::unique_ptr<AttentionFunction> function, ParameterLayout &layout);

  void reserve(int64_t tokens);

  // Forward, in this order: `project` for every piece, `attend`, `combine` for every piece.
  void project(const Kernels &kernels, const float *parameters, const Piece &piece, int64_t length,
               const float *x);
  Status attend(const float *parameters, int64_t sequences, int64_t length);
  void combine(const Kernels &kernels, const float *parameters, const Piece &piece, int64_t length,
               float *x);

  // Backward, in the opposite order. `dx` is the gradient of the stream after this layer on entry,
  // before it on return.
  void combineBackward(const Kernels &kernels, const float *parameters, const Piece &piece,
                       int64_t length, const float *dx);
  Status attendBackward(const float *parameters, int64_t sequences, int64_t length);
  void projectBackward(const Kernels &kernels, const float *parameters, const Piece &piece,
                       int64_t length, float *dx);
  /// The gradient of wo, ready when every piece went through `combineBackward` with this `dx`.
  WeightProduct outputProduct(const float *dx) const { return {output, merged.data<float>(), dx}; }
  /// That of wq, wk and wv, ready when every piece went through `projectBackward`.
  WeightProduct projectionProduct() const {
    return {projection, normed.data<float>(), packed.data<float>()};
  }
  /// Writes or adds the gradients of the encoding's parameters, computed by attendBackward.
  void storeEncodingGradients(GradientUse use, float *gradients) const;

  /// Indices of the encoding's parameters in the layout, as AttentionFunction lists them.
  const std::vector<int64_t> &encodingParameters() const { return encoding; }
  const AttentionFunction &attention() const { return *function; }

private:
  AttentionInputs inputs(const float *parameters, int64_t sequences, int64_t length) const;

  int64_t dim;
  HeadShape shape;
  std::unique_ptr<AttentionFunction> function;
  Linear projection, output;
  std::vector<int64_t> encoding, encodingOffsets;
  std::vector<Tensor> dEncoding;
  /// Per token: norm(x), 1 / rms(x); q, k and v side by side (in backward their gradients); the
  /// attention's result with concatenated heads, the gradients of that and of norm(x).
  Tensor normed, inverse, packed, merged, dMerged, dNormed;
  /// By head: [sequences, heads, length, headDim].
  Tensor q, k, v, o, dQ, dK, dV, dO;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_SELFATTENTION_H
