//===- Embedding.h - Token embedding ----------------------------*- C++ -*-===//
//
// x[token] = table[token].
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_EMBEDDING_H
#define PE_RUNTIME_TRAIN_MODEL_EMBEDDING_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/WeightGradients.h"

#include <algorithm>

namespace pe::train {

class Embedding {
public:
  /// Adds "embedding" [vocabulary, dim].
  Embedding(int64_t dim, int64_t vocabulary, ParameterLayout &layout)
      : dim(dim), vocabulary(vocabulary), layout(layout),
        parameter(layout.add("embedding", {vocabulary, dim}, Role::Embedding)),
        offset(layout[parameter].offset) {}

  void forward(const Kernels &kernels, const float *parameters, const Piece &piece,
               const int32_t *tokens, float *x) const {
    kernels.embeddingGather(parameters + offset, tokens + piece.row, x + piece.row * dim,
                            piece.rows, dim);
  }

  /// Computes the gradient over all tokens of the batch in order: many tokens add to the same row.
  void backward(const Kernels &kernels, int64_t count, const int32_t *tokens, const float *dx,
                GradientUse use, float *gradients) const {
    if (use == GradientUse::Replace && !layout[parameter].shared)
      std::fill_n(gradients + offset, vocabulary * dim, 0.0f);
    kernels.embeddingScatter(tokens, dx, gradients + offset, count, dim);
  }

private:
  int64_t dim, vocabulary;
  const ParameterLayout &layout;
  int64_t parameter, offset;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_EMBEDDING_H
