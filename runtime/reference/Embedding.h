//===- Embedding.h - Tokens plus an embedding -------------------*- C++ -*-===//
//
// y[b, s, d] = x[b, s, d] + E(q_start + s, d), and the gradients of what E reads, by plain loops.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_EMBEDDING_H
#define PE_RUNTIME_REFERENCE_EMBEDDING_H

#include "runtime/reference/Array.h"
#include "runtime/reference/ScalarGraph.h"

namespace pe::reference {

struct EmbeddingProblem {
  int64_t batch = 0, rows = 0, width = 0;
  /// The position of row 0.
  int64_t start = 0;
  const ScalarGraph *graph = nullptr;
  NodeId root = -1;
  const ParameterPack *parameters = nullptr;
};

/// x plus the embedding.
Array embed(const EmbeddingProblem &problem, const Array &x);

/// The gradients of the tensors that the embedding reads, for the cotangent of y.
ParameterGradients embedReverse(const EmbeddingProblem &problem, const Array &cotangent);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_EMBEDDING_H
