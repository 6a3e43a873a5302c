//===- Embedding.h - Addition of an embedding to tokens ---------*- C++ -*-===//
//
// Computes y[b, s, d] = f(b, q_start + s, d) (x[b, s, d] + E(q_start + s, d)) and the gradients of
// x and of the tensors that E reads, with plain loops. f is the dropout factor 1 / (1 - p) or 0,
// and 1 without dropout.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_EMBEDDING_H
#define PE_RUNTIME_REFERENCE_EMBEDDING_H

#include "runtime/reference/Array.h"
#include "runtime/reference/ScalarGraph.h"

namespace pe::reference {

/// An embedding without its input tokens.
struct EmbeddingProblem {
  int64_t batch = 0, rows = 0, width = 0;
  /// The position of row 0.
  int64_t start = 0;
  const ScalarGraph *graph = nullptr;
  NodeId root = -1;
  const ParameterPack *parameters = nullptr;
  /// The probability of dropout and its seeds: one, or one per batch entry; empty without dropout.
  double dropout = 0.0;
  std::vector<int64_t> seeds;
  bool hasSeedPerBatch = false;
};

/// Returns x plus the embedding, after dropout, and counts the embedding's reads.
Array embed(const EmbeddingProblem &problem, const Array &x, ReadTally &reads);

/// Returns the cotangent of the sum before dropout, which is the gradient of x.
Array dropReverse(const EmbeddingProblem &problem, const Array &cotangent);

/// Returns the gradients of the tensors that the embedding reads, given the cotangent of the sum.
ParameterGradients embedReverse(const EmbeddingProblem &problem, const Array &cotangent);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_EMBEDDING_H
