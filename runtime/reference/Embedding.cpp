//===- Embedding.cpp - Tokens plus an embedding ---------------------------===//

#include "runtime/reference/Embedding.h"

namespace pe::reference {

Array embed(const EmbeddingProblem &problem, const Array &x) {
  Array y = x;
  ScalarEvaluator evaluator(*problem.graph, problem.root, *problem.parameters);
  evaluator.startSequence(problem.width, problem.start + problem.rows);
  for (int64_t row = 0; row < problem.rows; ++row) {
    evaluator.startRow(problem.start + row);
    for (int64_t dim = 0; dim < problem.width; ++dim) {
      const double value = evaluator.evaluateDim(dim);
      for (int64_t b = 0; b < problem.batch; ++b)
        y.data[(b * problem.rows + row) * problem.width + dim] += value;
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
