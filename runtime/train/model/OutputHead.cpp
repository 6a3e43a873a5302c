//===- OutputHead.cpp - From the residual stream to the loss --------------===//
//
// Processes the batch in chunks, forward and backward.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/OutputHead.h"

#include <algorithm>

namespace pe::train {

OutputHead::OutputHead(int64_t dim, int64_t vocabulary, bool tied, int64_t logitBytes,
                       ParameterLayout &layout)
    : dim(dim), vocabulary(vocabulary), layout(layout) {
  parameter = tied ? layout.share("embedding", {vocabulary, dim}, Role::Embedding)
                   : layout.add("head", {vocabulary, dim}, Role::Head);
  const int64_t pitch = (vocabulary + kKernelLanes - 1) / kKernelLanes * kKernelLanes;
  linear = {layout[parameter].offset, vocabulary, dim, pitch};
  logitRows = std::max<int64_t>(1, logitBytes / static_cast<int64_t>(pitch * sizeof(float)));
}

void OutputHead::reserve(const Batch &batch) {
  const int64_t tokens = batch.sequences * batch.length;
  pieces = piecesOf(batch.sequences, batch.length, std::min(kPieceRows, logitRows));
  ranges.clear();
  int64_t most = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (ranges.empty() || ranges.back().rows + pieces[i].rows > logitRows)
      ranges.push_back({i, i, pieces[i].row, 0});
    ranges.back().end = i + 1;
    ranges.back().rows += pieces[i].rows;
    most = std::max(most, ranges.back().rows);
  }
  if (logitFloats() < most * linear.pitch)
    logits = Tensor::zeros(DType::F32, {most, linear.pitch});
  if (tokens <= capacity)
    return;
  capacity = tokens;
  normed = Tensor::zeros(DType::F32, {tokens, dim});
  dNormed = Tensor::zeros(DType::F32, {tokens, dim});
  inverse = Tensor::zeros(DType::F32, {tokens});
  loss = Tensor::zeros(DType::F32, {tokens});
}

void OutputHead::score(const Kernels &kernels, const Weights &weights, const Batch &batch,
                       const Chunk &chunk, const Piece &piece) {
  float *scores = logitsOf(chunk, piece);
  linear.forward(weights, normed.data<float>() + piece.row * dim, scores, piece.rows);
  for (int64_t row = piece.row; recordsHits && row < piece.row + piece.rows; ++row) {
    const float *logit = scores + (row - piece.row) * linear.pitch;
    hit[row] = batch.weights[row] > 0 &&
               std::max_element(logit, logit + vocabulary) - logit == batch.targets[row];
  }
  kernels.crossEntropy(scores, batch.targets.data() + piece.row, batch.weights.data() + piece.row,
                       loss.data<float>() + piece.row, piece.rows, vocabulary, linear.pitch, scale);
}

void OutputHead::forward(const Kernels &kernels, const Weights &weights, const Batch &batch,
                         float newScale, const float *x, ParallelFor &parallel) {
  scale = newScale;
  reserve(batch);
  if (recordsHits)
    hit.assign(batch.sequences * batch.length, 0);
  for (const Chunk &chunk : ranges)
    parallelFor(parallel, static_cast<int64_t>(chunk.end - chunk.begin), [&](int64_t item) {
      const Piece &piece = pieces[chunk.begin + item];
      kernels.norm.forward(x + piece.row * dim, normed.data<float>() + piece.row * dim,
                           inverse.data<float>() + piece.row, piece.rows, dim);
      score(kernels, weights, batch, chunk, piece);
    });
}

void OutputHead::backward(const Kernels &kernels, const Weights &weights, const Batch &batch,
                          float *dx, GradientUse use, float *gradients, ParallelFor &parallel) {
  for (const Chunk &chunk : ranges) {
    parallelFor(parallel, static_cast<int64_t>(chunk.end - chunk.begin), [&](int64_t item) {
      const Piece &piece = pieces[chunk.begin + item];
      if (ranges.size() > 1)
        score(kernels, weights, batch, chunk, piece);
      float *dStream = dx + piece.row * dim;
      float *dy = dNormed.data<float>() + piece.row * dim;
      linear.backwardInput(weights.values, logitsOf(chunk, piece), dy, piece.rows);
      std::fill_n(dStream, piece.rows * dim, 0.0f);
      kernels.norm.backward(normed.data<float>() + piece.row * dim,
                            inverse.data<float>() + piece.row, dy, dStream, piece.rows, dim);
    });
    const WeightTiles tiles(
        {{linear, normed.data<float>() + chunk.row * dim, logits.data<float>()}});
    const bool adds = use == GradientUse::Add || layout[parameter].shared || chunk.begin > 0;
    parallelFor(parallel, tiles.size(), [&](int64_t tile) {
      tiles.run(tile, chunk.rows, adds ? GradientUse::Add : GradientUse::Replace, gradients);
    });
  }
}

} // namespace pe::train
