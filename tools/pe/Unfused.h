//===- Unfused.h - Attention composed of OpenBLAS products ---===//
//
// The baseline of `pe bench`: attention without a fused kernel. It computes a matrix of scores, a
// pass for bias, mask and softmax, and a second product; the backward pass has five products. Each
// thread processes one head at a time with single-threaded OpenBLAS.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_UNFUSED_H
#define PE_TOOLS_PE_UNFUSED_H

#include "pe/Parallel.h"

#include <vector>

namespace pe::cli {

/// Causal softmax attention of `heads` heads, N queries and keys and depth d. q, k, v, o and their
/// gradients are [heads, N, d]. `bias` [N, N], if not null, is added to the scores of every head.
struct UnfusedAttention {
  int64_t heads, n, d;
  const float *q, *k, *v, *bias;

  /// Writes o, and stores the probabilities in `p` [heads, N, N].
  void forward(float *o, float *p, ParallelFor &pool) const;
  /// Computes the gradients from dO. `ds` [threads' heads, N, N] is scratch memory.
  void backward(const float *o, const float *dO, const float *p, float *ds, float *dQ, float *dK,
                float *dV, ParallelFor &pool) const;
};

} // namespace pe::cli

#endif // PE_TOOLS_PE_UNFUSED_H
