//===- Mlp.cpp - The feed-forward layer -----------------------------------===//
//
// Forward and backward of one piece of the batch.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/Mlp.h"

#include <algorithm>
#include <cmath>

namespace pe::train {

Mlp::Mlp(const std::string &prefix, int64_t dim, int64_t hidden, bool gated,
         ParameterLayout &layout)
    : dim(dim), hidden(hidden), gated(gated) {
  const int64_t first = layout.add(prefix + ".w1", {hidden, dim}, Role::Mlp);
  if (gated) // adjacent: one product computes both
    layout.add(prefix + ".w3", {hidden, dim}, Role::Mlp);
  up = {layout[first].offset, gated ? 2 * hidden : hidden, dim};
  down = {layout[layout.add(prefix + ".w2", {dim, hidden}, Role::Mlp)].offset, dim, hidden};
}

void Mlp::reserve(int64_t tokens) {
  normed = Tensor::zeros(DType::F32, {tokens, dim});
  inverse = Tensor::zeros(DType::F32, {tokens});
  raw = Tensor::zeros(DType::F32, {tokens, up.outputs});
  active = Tensor::zeros(DType::F32, {tokens, hidden});
  dActive = Tensor::zeros(DType::F32, {tokens, hidden});
  dRaw = gated ? Tensor::zeros(DType::F32, {tokens, up.outputs}) : dActive;
  dNormed = Tensor::zeros(DType::F32, {tokens, dim});
  dResult = Tensor::zeros(DType::F32, {tokens, dim});
}

void Mlp::useMemoryOf(const Mlp &other) {
  for (Tensor Mlp::*tensor : {&Mlp::normed, &Mlp::inverse, &Mlp::raw, &Mlp::active, &Mlp::dActive,
                              &Mlp::dRaw, &Mlp::dNormed, &Mlp::dResult})
    this->*tensor = other.*tensor;
}

/// Returns the start of row `row`.
static float *rowOf(Tensor &tensor, int64_t row) {
  return tensor.data<float>() + row * tensor.shape()[1];
}

void Mlp::activate(const Kernels &kernels, const Piece &piece) {
  if (!gated)
    return kernels.activation.forward(rowOf(raw, piece.row), rowOf(active, piece.row),
                                      piece.rows * hidden);
  for (int64_t row = piece.row; row < piece.row + piece.rows; ++row)
    kernels.activation.gatedForward(rowOf(raw, row), rowOf(raw, row) + hidden, rowOf(active, row),
                                    hidden);
}

void Mlp::activateBackward(const Kernels &kernels, const Piece &piece) {
  if (!gated)
    return kernels.activation.backward(rowOf(raw, piece.row), rowOf(dActive, piece.row),
                                       rowOf(dRaw, piece.row), piece.rows * hidden);
  for (int64_t row = piece.row; row < piece.row + piece.rows; ++row)
    kernels.activation.gatedBackward(rowOf(raw, row), rowOf(raw, row) + hidden, rowOf(dActive, row),
                                     rowOf(dRaw, row), rowOf(dRaw, row) + hidden, hidden);
}

void Mlp::forward(const Kernels &kernels, const Weights &weights, const Piece &piece, float *x) {
  float *stream = x + piece.row * dim;
  float *y = normed.data<float>() + piece.row * dim;
  kernels.norm.forward(stream, y, inverse.data<float>() + piece.row, piece.rows, dim);
  up.forward(weights, y, rowOf(raw, piece.row), piece.rows);
  activate(kernels, piece);
  if (!dropout.isOn())
    return down.forward(weights, rowOf(active, piece.row), stream, piece.rows, /*adds=*/true);
  float *result = rowOf(dResult, piece.row);
  down.forward(weights, rowOf(active, piece.row), result, piece.rows);
  dropout.apply(result, piece.row, piece.rows, dim);
  for (int64_t i = 0; i < piece.rows * dim; ++i)
    stream[i] += result[i];
}

void Mlp::backward(const Kernels &kernels, const float *parameters, const Piece &piece, float *dx) {
  float *dStream = dx + piece.row * dim;
  const float *y = normed.data<float>() + piece.row * dim;
  float *dy = dNormed.data<float>() + piece.row * dim;
  // The stream's gradient changes further before the weight gradients are computed from it, hence
  // the copy.
  float *result = rowOf(dResult, piece.row);
  std::copy_n(dStream, piece.rows * dim, result);
  dropout.apply(result, piece.row, piece.rows, dim);
  down.backwardInput(parameters, result, rowOf(dActive, piece.row), piece.rows);
  activateBackward(kernels, piece);
  up.backwardInput(parameters, rowOf(dRaw, piece.row), dy, piece.rows);
  kernels.norm.backward(y, inverse.data<float>() + piece.row, dy, dStream, piece.rows, dim);
}

void Mlp::measureActivity(int64_t tokens, ParallelFor &parallel) {
  constexpr int64_t kNeurons = 64; // per work item; the sums do not depend on it
  meanActivity.assign(hidden, 0.0);
  parallelFor(parallel, (hidden + kNeurons - 1) / kNeurons, [&](int64_t item) {
    const int64_t begin = item * kNeurons, end = std::min(begin + kNeurons, hidden);
    for (int64_t row = 0; row < tokens; ++row)
      for (int64_t n = begin; n < end; ++n)
        meanActivity[n] += std::fabs(rowOf(active, row)[n]);
    for (int64_t n = begin; n < end; ++n)
      meanActivity[n] /= static_cast<double>(tokens);
  });
}

std::vector<WeightProduct> Mlp::weightProducts() const {
  return {{down, active.data<float>(), dResult.data<float>()},
          {up, normed.data<float>(), dRaw.data<float>()}};
}

} // namespace pe::train
