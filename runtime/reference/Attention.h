//===- Attention.h - Attention in float64, row by row -----------*- C++ -*-===//
//
// For each batch b, head h and query row i, over the keys j that the mask keeps:
//
//   z_j = f(scale * <R_i (q_i + u_h), R_j k_j>) + bias_h(i, j) + content terms (Content.h)
//
// where f is the score function, if any, and
//
//   A = the weights that the normalizer computes from z (RowNormalizer.h)
//
//   o_i = sum of A_j f_ij (v_j + P(i - j)), plus R_i v_i if the remainder is kept and the mask
//         keeps the query's own key; R_i is the mass that remains under stick-breaking
//
// where P is the vector added to the values (0 if there is none) and f_ij is the product of the
// factors; dropout is the factor 1 / (1 - p) or 0, from the words of Philox 4x32-10. With both
// sides, o_i is the mean of this value and the one with the order of keys reversed, over the keys
// after the query.
//
// The reverse of each step has hand-written derivatives. A row takes O(keys) memory; nothing of
// size queries x keys is stored. Heads run on several threads, and sums over heads are in order, so
// the result does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ATTENTION_H
#define PE_RUNTIME_REFERENCE_ATTENTION_H

#include "runtime/reference/AttentionProblem.h"

namespace pe::reference {

/// Computes the outputs on `threads` threads (0: one per core).
AttentionOutputs attend(const AttentionProblem &problem, const AttentionInputs &inputs,
                        unsigned threads);

/// Computes the gradients on `threads` threads (0: one per core).
AttentionGradients attendReverse(const AttentionProblem &problem, const AttentionInputs &inputs,
                                 const AttentionCotangents &cotangents, unsigned threads);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ATTENTION_H
