//===- OutputHead.h - From the residual stream to the loss ------*- C++ -*-===//
//
// logits = norm(x) W^T, and the cross-entropy of each target in nats, multiplied by its weight.
//
// With a large vocabulary, the logits are by far the largest tensor of a step. They are computed in
// chunks of pieces that take at most 64 MiB: forward keeps only the losses, and backward recomputes
// the logits of each chunk. If one chunk holds the entire batch, its logits are kept and nothing is
// computed twice. Chunks depend only on the shape of the batch, so results do not depend on the
// threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_OUTPUTHEAD_H
#define PE_RUNTIME_TRAIN_MODEL_OUTPUTHEAD_H

#include "runtime/train/data/Batches.h"
#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/WeightGradients.h"

namespace pe::train {

class OutputHead {
public:
  /// Adds "head" [vocabulary, dim], or multiplies by the embedding if the two are `tied`. A chunk
  /// of logits takes at most `logitBytes`, but has at least one row.
  OutputHead(int64_t dim, int64_t vocabulary, bool tied, int64_t logitBytes,
             ParameterLayout &layout);

  /// Computes the loss of every token.
  void forward(const Kernels &kernels, const Weights &weights, const Batch &batch, float scale,
               const float *x, ParallelFor &parallel);
  /// Overwrites `dx` with the gradient of the stream, for a total of `scale` times the sum of the
  /// losses, and stores the gradient of the weights.
  void backward(const Kernels &kernels, const Weights &weights, const Batch &batch, float *dx,
                GradientUse use, float *gradients, ParallelFor &parallel);

  const float *losses() const { return loss.data<float>(); }
  /// Returns the matrix from the stream to the logits.
  const Linear &projection() const { return linear; }
  /// Sets whether forward records which targets have the largest logit.
  void recordHits(bool record) { recordsHits = record; }
  /// Returns 1 for each target with the largest logit and a positive weight, in the last recorded
  /// forward call.
  const std::vector<uint8_t> &hits() const { return hit; }
  /// Returns the number of chunks of the last batch.
  int64_t chunks() const { return static_cast<int64_t>(ranges.size()); }
  int64_t logitFloats() const { return logits.isDefined() ? logits.numel() : 0; }

private:
  /// Pieces [begin, end), and the batch row at which the first of them begins.
  struct Chunk {
    size_t begin, end;
    int64_t row, rows;
  };

  void reserve(const Batch &batch);
  /// Computes the logits and losses of a piece of the chunk; the gradients overwrite the logits.
  void score(const Kernels &kernels, const Weights &weights, const Batch &batch, const Chunk &chunk,
             const Piece &piece);
  float *logitsOf(const Chunk &chunk, const Piece &piece) {
    return logits.data<float>() + (piece.row - chunk.row) * linear.pitch;
  }

  int64_t dim, vocabulary, logitRows;
  int64_t parameter;
  const ParameterLayout &layout;
  Linear linear;
  float scale = 0;
  bool recordsHits = false;
  std::vector<uint8_t> hit;
  std::vector<Piece> pieces;
  std::vector<Chunk> ranges;
  Tensor normed, inverse, logits, loss, dNormed;
  int64_t capacity = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_OUTPUTHEAD_H
