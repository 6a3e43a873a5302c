//===- Content.cpp - Terms of the query and the distance ------------------===//

#include "runtime/reference/Content.h"

#include <cmath>

namespace pe::reference {

void NoisySum::add(double term, double noise) {
  sum += term;
  magnitude += std::fabs(term);
  noiseSquared += noise * noise;
}

ContentVectors::ContentVectors(const ScalarGraph &graph, NodeId root,
                               const ParameterPack &parameters, const ContentHead &head,
                               int64_t width)
    : evaluator(graph, root, parameters), width(width) {
  evaluator.startHead(head.batch, head.head, head.globalHead, head.headsTotal);
  evaluator.startSequence(width, /*length=*/0);
}

ContentVectors::Vector &ContentVectors::find(int64_t i, int64_t j) {
  auto [found, isNew] = vectors.try_emplace(i - j);
  Vector &vector = found->second;
  if (!isNew)
    return vector;
  vector.i = i;
  vector.j = j;
  vector.cotangents.resize(width);
  evaluator.startRow(i);
  for (int64_t d = 0; d < width; ++d)
    vector.elements.push_back(evaluator.evaluateElement(j, d));
  return vector;
}

void ContentVectors::reverse(int64_t i, int64_t j, double factor, double noise,
                             const double *terms) {
  Vector &vector = find(i, j);
  for (int64_t d = 0; d < width; ++d)
    vector.cotangents[d].add(factor * terms[d], noise * terms[d]);
}

void ContentVectors::finish(ParameterGradients &gradients) {
  for (const auto &[distance, vector] : vectors) {
    evaluator.startRow(vector.i);
    for (int64_t d = 0; d < width; ++d) {
      evaluator.evaluateElement(vector.j, d);
      const NoisySum &cotangent = vector.cotangents[d];
      evaluator.reverse(cotangent.sum, cotangent.magnitude, std::sqrt(cotangent.noiseSquared),
                        gradients);
    }
  }
}

ContentWorker::ContentWorker(const ScalarGraph &graph, const ContentProblem &problem,
                             const ParameterPack &parameters, const ContentHead &head,
                             std::vector<double> queries)
    : vectors(graph, problem.root, parameters, head, problem.depth), problem(problem),
      parameters(parameters.values()), head(head), scale(problem.rowsAt < 0 ? head.scale : 1.0),
      shifted(std::move(queries)), rowCotangent(problem.depth) {
  const int64_t dims = problem.depth;
  if (problem.rowsAt >= 0) {
    const double *first = this->parameters.data() + placeOf(0);
    shifted.assign(first, first + head.queries * dims);
  }
  if (problem.shiftAt >= 0)
    for (size_t e = 0; e < shifted.size(); ++e)
      shifted[e] += this->parameters[problem.shiftAt + head.head * dims + e % dims];
  if (problem.factor >= 0) {
    factor.emplace(graph, problem.factor, parameters);
    factor->startHead(head.batch, head.head, head.globalHead, head.headsTotal);
  }
  factors.assign(head.queries, 1.0);
  projected = shifted;
  if (problem.projectionAt < 0)
    return;
  for (int64_t row = 0; row < head.queries; ++row)
    for (int64_t out = 0; out < dims; ++out) {
      double sum = 0.0;
      for (int64_t in = 0; in < dims; ++in)
        sum += shifted[row * dims + in] * this->parameters[problem.projectionAt + in * dims + out];
      projected[row * dims + out] = sum;
    }
}

int64_t ContentWorker::placeOf(int64_t row) const {
  const int64_t item = head.batch * head.heads + head.head;
  return problem.rowsAt + (item * head.queries + row) * problem.depth;
}

void ContentWorker::startRow(int64_t row, Token query) {
  if (!factor)
    return;
  factor->startRow(query);
  factors[row] = factor->evaluate(Token(0)); // it does not depend on the key
}

double ContentWorker::score(int64_t row, int64_t i, int64_t j) {
  if (!isInExtent(i, j))
    return 0.0;
  const std::vector<double> &vector = vectors.at(i, j);
  double sum = 0.0;
  for (int64_t d = 0; d < problem.depth; ++d)
    sum += projected[row * problem.depth + d] * vector[d];
  return factors[row] * scale * sum;
}

void ContentWorker::reverse(int64_t row, int64_t i, int64_t j, double dScore, double noise) {
  if (!isInExtent(i, j))
    return;
  const std::vector<double> &vector = vectors.at(i, j);
  // The factor is applied to the sums of the row (finishFactor).
  for (int64_t d = 0; d < problem.depth; ++d)
    rowCotangent[d].add(scale * dScore * vector[d], scale * noise * vector[d]);
  vectors.reverse(i, j, factors[row] * scale * dScore, factors[row] * scale * noise,
                  projected.data() + row * problem.depth);
}

static void addTo(ParameterGradients &gradients, int64_t at, const NoisySum &term, double factor) {
  gradients.sum[at] += factor * term.sum;
  gradients.magnitude[at] += std::fabs(factor) * term.magnitude;
  gradients.noiseSquared[at] += factor * factor * term.noiseSquared;
}

/// Adds to the gradients of the factor's parameters, and multiplies the cotangent by the factor.
void ContentWorker::finishFactor(int64_t row, ParameterGradients &gradients) {
  NoisySum product;
  for (int64_t d = 0; d < problem.depth; ++d) {
    const double element = projected[row * problem.depth + d];
    NoisySum &cotangent = rowCotangent[d];
    product.sum += element * cotangent.sum;
    product.magnitude += std::fabs(element) * cotangent.magnitude;
    product.noiseSquared += element * element * cotangent.noiseSquared;
    cotangent.sum *= factors[row];
    cotangent.magnitude *= std::fabs(factors[row]);
    cotangent.noiseSquared *= factors[row] * factors[row];
  }
  if (product.magnitude == 0.0) // also a row without keys, whose factor was not evaluated
    return;
  factor->reverse(product.sum, product.magnitude, std::sqrt(product.noiseSquared), gradients);
}

/// Replaces the cotangent of (q + v) W by the cotangent of q + v.
void ContentWorker::finishProjection(int64_t row, ParameterGradients &gradients) {
  const int64_t dims = problem.depth;
  std::vector<NoisySum> before(dims);
  for (int64_t in = 0; in < dims; ++in)
    for (int64_t out = 0; out < dims; ++out) {
      const int64_t at = problem.projectionAt + in * dims + out;
      addTo(gradients, at, rowCotangent[out], shifted[row * dims + in]);
      const double weight = parameters[at];
      before[in].sum += weight * rowCotangent[out].sum;
      before[in].magnitude += std::fabs(weight) * rowCotangent[out].magnitude;
      before[in].noiseSquared += weight * weight * rowCotangent[out].noiseSquared;
    }
  rowCotangent = std::move(before);
}

void ContentWorker::finishRow(int64_t row, double *dQuery, double *noiseSquared,
                              ParameterGradients &gradients) {
  if (factor)
    finishFactor(row, gradients);
  if (problem.projectionAt >= 0)
    finishProjection(row, gradients);
  for (int64_t d = 0; d < problem.depth; ++d) {
    if (problem.rowsAt >= 0) {
      addTo(gradients, placeOf(row) + d, rowCotangent[d], 1.0);
    } else {
      dQuery[d] += rowCotangent[d].sum;
      noiseSquared[d] += rowCotangent[d].noiseSquared;
    }
    if (problem.shiftAt >= 0)
      addTo(gradients, problem.shiftAt + head.head * problem.depth + d, rowCotangent[d], 1.0);
    rowCotangent[d] = {};
  }
}

void ContentWorker::finish(ParameterGradients &gradients) { vectors.finish(gradients); }

} // namespace pe::reference
