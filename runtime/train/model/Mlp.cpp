//===- Mlp.cpp - The feed-forward layer -----------------------------------===//
//
// Forward and backward of one piece of the batch.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/Mlp.h"

#include <algorithm>

namespace pe::train {

Mlp::Mlp(const std::string &prefix, int64_t dim, int64_t hidden, ParameterLayout &layout)
    : dim(dim), hidden(hidden) {
  up = {layout[layout.add(prefix + ".w1", {hidden, dim}, Role::Mlp)].offset, hidden, dim};
  down = {layout[layout.add(prefix + ".w2", {dim, hidden}, Role::Mlp)].offset, dim, hidden};
}

void Mlp::reserve(int64_t tokens) {
  normed = Tensor::zeros(DType::F32, {tokens, dim});
  inverse = Tensor::zeros(DType::F32, {tokens});
  raw = Tensor::zeros(DType::F32, {tokens, hidden});
  active = Tensor::zeros(DType::F32, {tokens, hidden});
  dHidden = Tensor::zeros(DType::F32, {tokens, hidden});
  dNormed = Tensor::zeros(DType::F32, {tokens, dim});
  dResult = Tensor::zeros(DType::F32, {tokens, dim});
}

void Mlp::forward(const Kernels &kernels, const float *parameters, const Piece &piece, float *x) {
  float *stream = x + piece.row * dim;
  float *y = normed.data<float>() + piece.row * dim;
  float *h = raw.data<float>() + piece.row * hidden;
  float *a = active.data<float>() + piece.row * hidden;
  kernels.norm.forward(stream, y, inverse.data<float>() + piece.row, piece.rows, dim);
  up.forward(parameters, y, h, piece.rows);
  kernels.reluSquaredForward(h, a, piece.rows * hidden);
  down.forward(parameters, a, stream, piece.rows, /*beta=*/1);
}

void Mlp::backward(const Kernels &kernels, const float *parameters, const Piece &piece, float *dx) {
  float *dStream = dx + piece.row * dim;
  const float *y = normed.data<float>() + piece.row * dim;
  float *dy = dNormed.data<float>() + piece.row * dim;
  float *dh = dHidden.data<float>() + piece.row * hidden;
  // The stream's gradient goes on changing before the weights' gradients are computed from it.
  std::copy_n(dStream, piece.rows * dim, dResult.data<float>() + piece.row * dim);
  down.backwardInput(parameters, dStream, dh, piece.rows);
  kernels.reluSquaredBackward(raw.data<float>() + piece.row * hidden, dh, dh, piece.rows * hidden);
  up.backwardInput(parameters, dh, dy, piece.rows);
  kernels.norm.backward(y, inverse.data<float>() + piece.row, dy, dStream, piece.rows, dim);
}

std::vector<WeightProduct> Mlp::weightProducts() const {
  return {{down, active.data<float>(), dResult.data<float>()},
          {up, normed.data<float>(), dHidden.data<float>()}};
}

} // namespace pe::train
