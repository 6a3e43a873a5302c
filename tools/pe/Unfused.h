//===- Unfused.h - attention composed of OpenBLAS products ---===//
//
// Attention without a fused kernel: scores as a matrix, a pass for bias, mask and softmax, and a
// second product; five products backward. Each thread processes one head at a time with
// single-threaded OpenBLAS. The baseline of `pe bench`.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_UNFUSED_H
#define PE_TOOLS_PE_UNFUSED_H

#include "pe/Parallel.h"

#include <vector>

namespace pe::cli {

/// Causal softmax attention of `heads` heads, N queries and keys, depth d; q, k, v, o and their
/// gradients [heads, N, d]; `bias` [N, N] is added to every head's scores unless null.
struct UnfusedAttention {
  int64_t heads, n, d;
  const float *q, *k, *v, *bias;

  /// Writes o and keeps the probabilities in `p` [heads, N, N].
  void forward(float *o, float *p, ParallelFor &pool) const;
  /// Gradients from dO; overwrites `p`'s copy `ds` [threads' heads, N, N] as scratch.
  void backward(const float *o, const float *dO, const float *p, float *ds, float *dQ, float *dK,
                float *dV, ParallelFor &pool) const;
};

} // namespace pe::cli

#endif // PE_TOOLS_PE_UNFUSED_H
