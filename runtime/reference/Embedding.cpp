//===- Embedding.cpp - Addition of an embedding to tokens -----------------===//

#include "runtime/reference/Embedding.h"

#include "runtime/core/Random.h"

namespace pe::reference {

/// Returns 1 / (1 - p) if word d mod 4 of the counter (b, 2^32 - 1, position, floor(d / 4)) is at
/// least p 2^32, otherwise 0.
static double dropoutFactor(const EmbeddingProblem &problem, int64_t b, int64_t row, int64_t dim) {
  if (problem.seeds.empty())
    return 1.0;
  const bool own = problem.hasSeedPerBatch;
  const auto seed = static_cast<uint64_t>(problem.seeds[own ? b : 0]);
  const std::array<uint32_t, 4> counter = {own ? 0 : static_cast<uint32_t>(b), ~uint32_t(0),
                                           static_cast<uint32_t>(problem.start + row),
                                           static_cast<uint32_t>(dim / 4)};
  const auto words =
      philox4x32(counter, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const bool isKept = words[dim % 4] >= problem.dropout * 0x1p32;
  return isKept ? 1.0 / (1.0 - problem.dropout) : 0.0;
}

Array dropReverse(const EmbeddingProblem &problem, const Array &cotangent) {
  Array result = cotangent;
  size_t n = 0;
  for (int64_t b = 0; b < problem.batch; ++b)
    for (int64_t row = 0; row < problem.rows; ++row)
      for (int64_t dim = 0; dim < problem.width; ++dim)
        result.data[n++] *= dropoutFactor(problem, b, row, dim);
  return result;
}

Array embed(const EmbeddingProblem &problem, const Array &x, ReadTally &reads) {
  Array y = x;
  ScalarEvaluator evaluator(*problem.graph, problem.root, *problem.parameters);
  evaluator.startSequence(problem.width, problem.start + problem.rows);
  for (int64_t row = 0; row < problem.rows; ++row) {
    evaluator.startRow(problem.start + row);
    for (int64_t dim = 0; dim < problem.width; ++dim) {
      const double value = evaluator.evaluateDim(dim);
      evaluator.tallyReads(reads);
      for (int64_t b = 0; b < problem.batch; ++b) {
        double &sum = y.data[(b * problem.rows + row) * problem.width + dim];
        sum = (sum + value) * dropoutFactor(problem, b, row, dim);
      }
    }
  }
  return y;
}

ParameterGradients embedReverse(const EmbeddingProblem &problem, const Array &cotangent) {
  ParameterGradients gradients(problem.parameters->size());
  ScalarEvaluator evaluator(*problem.graph, problem.root, *problem.parameters);
  evaluator.startSequence(problem.width, problem.start + problem.rows);
  for (int64_t row = 0; row < problem.rows; ++row) {
    evaluator.startRow(problem.start + row);
    for (int64_t dim = 0; dim < problem.width; ++dim) {
      evaluator.evaluateDim(dim);
      for (int64_t b = 0; b < problem.batch; ++b)
        evaluator.reverse(cotangent.data[(b * problem.rows + row) * problem.width + dim],
                          /*noise=*/0.0, gradients);
    }
  }
  return gradients;
}

} // namespace pe::reference
