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
    : vectors(graph, problem.root, parameters, head, head.headDim), problem(problem),
      parameters(parameters.values()), head(head), shifted(std::move(queries)),
      rowCotangent(head.headDim) {
  const int64_t dims = head.headDim;
  if (problem.shiftAt >= 0)
    for (size_t e = 0; e < shifted.size(); ++e)
      shifted[e] += this->parameters[problem.shiftAt + head.head * dims + e % dims];
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

double ContentWorker::score(int64_t row, int64_t i, int64_t j) {
  const std::vector<double> &vector = vectors.at(i, j);
  double sum = 0.0;
  for (int64_t d = 0; d < head.headDim; ++d)
    sum += projected[row * head.headDim + d] * vector[d];
  return head.scale * sum;
}

void ContentWorker::reverse(int64_t row, int64_t i, int64_t j, double dScore, double noise) {
  const std::vector<double> &vector = vectors.at(i, j);
  for (int64_t d = 0; d < head.headDim; ++d)
    rowCotangent[d].add(head.scale * dScore * vector[d], head.scale * noise * vector[d]);
  vectors.reverse(i, j, head.scale * dScore, head.scale * noise,
                  projected.data() + row * head.headDim);
}

static void addTo(ParameterGradients &gradients, int64_t at, const NoisySum &term, double factor) {
  gradients.sum[at] += factor * term.sum;
  gradients.magnitude[at] += std::fabs(factor) * term.magnitude;
  gradients.noiseSquared[at] += factor * factor * term.noiseSquared;
}

/// Replaces the cotangent of (q + v) W by the cotangent of q + v.
void ContentWorker::finishProjection(int64_t row, ParameterGradients &gradients) {
  const int64_t dims = head.headDim;
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
  if (problem.projectionAt >= 0)
    finishProjection(row, gradients);
  for (int64_t d = 0; d < head.headDim; ++d) {
    dQuery[d] += rowCotangent[d].sum;
    noiseSquared[d] += rowCotangent[d].noiseSquared;
    if (problem.shiftAt >= 0)
      addTo(gradients, problem.shiftAt + head.head * head.headDim + d, rowCotangent[d], 1.0);
    rowCotangent[d] = {};
  }
}

void ContentWorker::finish(ParameterGradients &gradients) { vectors.finish(gradients); }

} // namespace pe::reference
