//===- Embedding.h - From tokens to the residual stream ---------*- C++ -*-===//
//
// x[token] = table[token's character].
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_EMBEDDING_H
#define PE_RUNTIME_TRAIN_MODEL_EMBEDDING_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/Work.h"

namespace pe::train {

class Embedding {
public:
  /// Adds "embedding" [vocabulary, dim].
  Embedding(int64_t dim, int64_t vocabulary, ParameterLayout &layout)
      : dim(dim),
        offset(layout[layout.add("embedding", {vocabulary, dim}, Role::Embedding)].offset) {}

  void forward(const Kernels &kernels, const float *parameters, const Piece &piece,
               const int32_t *tokens, float *x) const {
    kernels.embeddingGather(parameters + offset, tokens + piece.row, x + piece.row * dim,
                            piece.rows, dim);
  }

  void backward(const Kernels &kernels, const Piece &piece, const int32_t *tokens, const float *dx,
                float *gradients) const {
    kernels.embeddingScatter(tokens + piece.row, dx + piece.row * dim, gradients + offset,
                             piece.rows, dim);
  }

private:
  int64_t dim, offset;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_EMBEDDING_H
