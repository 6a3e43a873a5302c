//===- OutputHead.h - From the residual stream to the loss ------*- C++ -*-===//
//
// logits = norm(x) W^T, and the cross-entropy of each target in nats, times the target's weight.
//
// With a large vocabulary the logits are by far the largest tensor of a step. They are computed in
// chunks of pieces that take at most 64 MiB at a time: forward keeps the losses alone, and backward
// computes each chunk's logits again. Where one chunk holds the whole batch they are kept, and
// nothing is computed twice. Chunks follow from the shape of the batch: results do not depend on
// the threads.
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
  /// Adds "head" [vocabulary, dim], or multiplies by the embedding if the two are `tied`. Logits
  /// take at most `logitBytes` at a time, and at least one row of them.
  OutputHead(int64_t dim, int64_t vocabulary, bool tied, int64_t logitBytes,
             ParameterLayout &layout);

  /// The loss of every token.
  void forward(const Kernels &kernels, const Weights &weights, const Batch &batch, float scale,
               const float *x, ParallelFor &parallel);
  /// Overwrites `dx` with the gradient of the stream, for a total of `scale` times the sum of the
  /// losses, and stores that of the weights.
  void backward(const Kernels &kernels, const Weights &weights, const Batch &batch, float *dx,
                GradientUse use, float *gradients, ParallelFor &parallel);

  const float *losses() const { return loss.data<float>(); }
  /// The matrix from the stream to the logits.
  const Linear &projection() const { return linear; }
  /// Whether forward finds out which targets have the largest logit.
  void recordHits(bool record) { recordsHits = record; }
  /// 1 for each such target of weight above 0, of the last forward call that recorded it.
  const std::vector<uint8_t> &hits() const { return hit; }
  /// Of the last batch.
  int64_t chunks() const { return static_cast<int64_t>(ranges.size()); }
  int64_t logitFloats() const { return logits.isDefined() ? logits.numel() : 0; }

private:
  /// Pieces [begin, end), and the row of the batch that the first begins with.
  struct Chunk {
    size_t begin, end;
    int64_t row, rows;
  };

  void reserve(const Batch &batch);
  /// Logits and losses of a piece of the chunk; gradients replace the logits.
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
