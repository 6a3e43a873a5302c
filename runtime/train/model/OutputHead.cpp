//===- OutputHead.cpp - From the residual stream to the loss --------------===//
//
// Forward and backward of one piece of the batch.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/OutputHead.h"

#include <algorithm>

namespace pe::train {

OutputHead::OutputHead(int64_t dim, int64_t vocabulary, ParameterLayout &layout)
    : dim(dim), vocabulary(vocabulary) {
  linear = {layout[layout.add("head", {vocabulary, dim}, Role::Head)].offset, vocabulary, dim};
}

void OutputHead::reserve(int64_t tokens) {
  normed = Tensor::zeros(DType::F32, {tokens, dim});
  dNormed = Tensor::zeros(DType::F32, {tokens, dim});
  inverse = Tensor::zeros(DType::F32, {tokens});
  logits = Tensor::zeros(DType::F32, {tokens, vocabulary});
  loss = Tensor::zeros(DType::F32, {tokens});
}

void OutputHead::forward(const Kernels &kernels, const float *parameters, const Piece &piece,
                         const float *x, const int32_t *targets, float scale) {
  float *y = normed.data<float>() + piece.row * dim;
  float *scores = logits.data<float>() + piece.row * vocabulary;
  kernels.rmsNormForward(x + piece.row * dim, y, inverse.data<float>() + piece.row, piece.rows,
                         dim);
  linear.forward(parameters, y, scores, piece.rows);
  kernels.crossEntropy(scores, targets + piece.row, loss.data<float>() + piece.row, piece.rows,
                       vocabulary, scale);
}

void OutputHead::backward(const Kernels &kernels, const float *parameters, const Piece &piece,
                          float *dx) {
  float *dStream = dx + piece.row * dim;
  const float *y = normed.data<float>() + piece.row * dim;
  const float *dScores = logits.data<float>() + piece.row * vocabulary;
  float *dy = dNormed.data<float>() + piece.row * dim;
  linear.backwardInput(parameters, dScores, dy, piece.rows);
  std::fill_n(dStream, piece.rows * dim, 0.0f);
  kernels.rmsNormBackward(y, inverse.data<float>() + piece.row, dy, dStream, piece.rows, dim);
}

} // namespace pe::train
