//===- Unfused.cpp - Attention composed of OpenBLAS products ---===//
#include "tools/pe/Unfused.h"

#include "runtime/train/blas/Blas.h"

#include <algorithm>
#include <cmath>

namespace pe::cli {

using blas::gemm;
using blas::Transpose;

void UnfusedAttention::forward(float *o, float *p, ParallelFor &pool) const {
  float scale = 1.0f / std::sqrt(static_cast<float>(d));
  parallelFor(pool, heads, [&](int64_t head) {
    const float *qh = q + head * n * d, *kh = k + head * n * d, *vh = v + head * n * d;
    float *ph = p + head * n * n;
    gemm(n, n, d, {qh, d}, {kh, d, Transpose::Yes}, 0.0f, ph, n);
    for (int64_t i = 0; i < n; ++i) {
      float *row = ph + i * n, top = -INFINITY, sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        row[j] = row[j] * scale + (bias ? bias[i * n + j] : 0.0f);
        top = std::max(top, row[j]);
      }
      for (int64_t j = 0; j <= i; ++j)
        sum += row[j] = std::exp(row[j] - top);
      for (int64_t j = 0; j <= i; ++j)
        row[j] /= sum;
      std::fill(row + i + 1, row + n, 0.0f);
    }
    gemm(n, d, n, {ph, n}, {vh, d}, 0.0f, o + head * n * d, d);
  });
}

void UnfusedAttention::backward(const float *o, const float *dO, const float *p, float *ds,
                                float *dQ, float *dK, float *dV, ParallelFor &pool) const {
  float scale = 1.0f / std::sqrt(static_cast<float>(d));
  parallelFor(pool, heads, [&](int64_t head) {
    int64_t at = head * n * d;
    const float *ph = p + head * n * n;
    float *dsh = ds + head * n * n;
    gemm(n, d, n, {ph, n, Transpose::Yes}, {dO + at, d}, 0.0f, dV + at, d);
    gemm(n, n, d, {dO + at, d}, {v + at, d, Transpose::Yes}, 0.0f, dsh, n);
    for (int64_t i = 0; i < n; ++i) {
      float delta = 0;
      for (int64_t x = 0; x < d; ++x)
        delta += o[at + i * d + x] * dO[at + i * d + x];
      for (int64_t j = 0; j < n; ++j)
        dsh[i * n + j] = ph[i * n + j] * (dsh[i * n + j] - delta) * scale;
    }
    gemm(n, d, n, {dsh, n}, {k + at, d}, 0.0f, dQ + at, d);
    gemm(n, d, n, {dsh, n, Transpose::Yes}, {q + at, d}, 0.0f, dK + at, d);
  });
}

} // namespace pe::cli
