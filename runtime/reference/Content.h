//===- Content.h - Terms of queries and the distance ------------*- C++ -*-===//
//
// A content term adds scale * <(q_i + v_h) W, P_h(i - j)> to the score of a pair. The vector P of a
// distance is evaluated where the first pair of that distance is met, and its cotangent is summed
// over all pairs before it is chained to what its code reads. Everything else is summed row by row.
//
// A value term adds sum_j A_ij P_h(i - j) to the output of a row: P is what a pair adds to the
// value of its key.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_CONTENT_H
#define PE_RUNTIME_REFERENCE_CONTENT_H

#include "runtime/reference/ScalarGraph.h"

#include <map>

namespace pe::reference {

/// One content term of an attention.
struct ContentProblem {
  NodeId root = -1;
  /// The shift [heads, D] and the matrix [D, D] in the pack of parameters; -1: none.
  int64_t shiftAt = -1;
  int64_t projectionAt = -1;
};

/// What a term is given: sizes of the head's rows, its place and positions.
struct ContentHead {
  int64_t batch, head, globalHead, headsTotal, queries, headDim;
  double scale;
};

/// A sum of terms with the sum of their magnitudes and of the squares of their noise.
struct NoisySum {
  double sum = 0.0, magnitude = 0.0, noiseSquared = 0.0;

  void add(double term, double noise);
};

/// The vectors P of one term and one (batch, head), and their cotangents.
class ContentVectors {
public:
  /// Vectors of `width` elements.
  ContentVectors(const ScalarGraph &graph, NodeId root, const ParameterPack &parameters,
                 const ContentHead &head, int64_t width);

  /// P(i - j).
  const std::vector<double> &at(int64_t i, int64_t j) { return find(i, j).elements; }
  /// Takes factor * terms as a part of the cotangent of P(i - j), and what cancelled in the factor.
  void reverse(int64_t i, int64_t j, double factor, double noise, const double *terms);
  /// Adds to the gradients of what the vectors are made of.
  void finish(ParameterGradients &gradients);

private:
  struct Vector {
    int64_t i, j; ///< a pair of this distance
    std::vector<double> elements;
    std::vector<NoisySum> cotangents;
  };
  Vector &find(int64_t i, int64_t j);

  ScalarEvaluator evaluator;
  int64_t width;
  std::map<int64_t, Vector> vectors;
};

/// One term of one (batch, head).
class ContentWorker {
public:
  /// `queries` are the rows of the head as the caller gives them.
  ContentWorker(const ScalarGraph &graph, const ContentProblem &problem,
                const ParameterPack &parameters, const ContentHead &head,
                std::vector<double> queries);

  /// What the term adds to the score of the row's query, at position i, and the key at j.
  double score(int64_t row, int64_t i, int64_t j);
  /// Takes the cotangent of that, and the size of what cancelled in it.
  void reverse(int64_t row, int64_t i, int64_t j, double dScore, double noise);
  /// Ends a row: adds to the gradient of its query and to those of parameters.
  void finishRow(int64_t row, double *dQuery, double *noiseSquared, ParameterGradients &gradients);
  /// Ends the head.
  void finish(ParameterGradients &gradients);

private:
  void finishProjection(int64_t row, ParameterGradients &gradients);

  ContentVectors vectors;
  const ContentProblem &problem;
  const std::vector<double> &parameters;
  ContentHead head;
  std::vector<double> shifted;        ///< q + v
  std::vector<double> projected;      ///< (q + v) W
  std::vector<NoisySum> rowCotangent; ///< of the projected query of the current row
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_CONTENT_H
