//===- Content.h - Terms of the query and the distance ----------*- C++ -*-===//
//
// A content term adds scale * <(q_i + v_h) W, P_h(i - j)> to the score of a pair, or <r_i, P_h(i -
// j)> with given rows r of another depth, times a factor of the query. P is 0 beyond the term's
// extent. The vector P of a distance is evaluated at the first pair of that distance, and its
// cotangent is summed over all pairs before it is propagated to the inputs of its code. Everything
// else is summed row by row.
//
// A value term adds sum_j A_ij P_h(i - j) to the output of a row: P is added to the value of each
// key.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_CONTENT_H
#define PE_RUNTIME_REFERENCE_CONTENT_H

#include "runtime/reference/ScalarGraph.h"

#include <cstdlib>
#include <limits>
#include <map>
#include <optional>

namespace pe::reference {

/// One content term of an attention.
struct ContentProblem {
  NodeId root = -1;
  /// The factor of the query, or -1.
  NodeId factor = -1;
  /// Offsets in the pack of the shift [heads, D] and of the matrix [D, D]; -1 if there is none.
  int64_t shiftAt = -1;
  int64_t projectionAt = -1;
  /// Offset of the given rows [batch, heads, queries, depth]; -1 if the term multiplies q.
  int64_t rowsAt = -1;
  /// The number of elements of a vector.
  int64_t depth = 0;
  /// P(t) is 0 unless |t| is below this.
  int64_t extent = std::numeric_limits<int64_t>::max();
};

/// The head that a term belongs to: its indices and sizes, and the scale of the scores.
struct ContentHead {
  int64_t batch, head, heads, globalHead, headsTotal, queries, headDim;
  double scale;
};

/// A sum of terms, with the sum of their magnitudes and of the squares of their noise.
struct NoisySum {
  double sum = 0.0, magnitude = 0.0, noiseSquared = 0.0;

  void add(double term, double noise);
};

/// The vectors P of one term and one (batch, head), and their cotangents.
class ContentVectors {
public:
  /// Evaluates vectors of `width` elements.
  ContentVectors(const ScalarGraph &graph, NodeId root, const ParameterPack &parameters,
                 const ContentHead &head, int64_t width);

  /// Returns P(i - j).
  const std::vector<double> &at(int64_t i, int64_t j) { return find(i, j).elements; }
  /// Adds factor * terms to the cotangent of P(i - j); `noise` is the noise of the factor.
  void reverse(int64_t i, int64_t j, double factor, double noise, const double *terms);
  /// Adds to the gradients of the parameters that the vectors depend on.
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
  /// `queries` are the rows of the head before shifts and rotation.
  ContentWorker(const ScalarGraph &graph, const ContentProblem &problem,
                const ParameterPack &parameters, const ContentHead &head,
                std::vector<double> queries);

  /// Evaluates the factor of a row.
  void startRow(int64_t row, Token query);
  /// Returns the contribution to the score of the row's query, at position i, and the key at j.
  double score(int64_t row, int64_t i, int64_t j);
  /// Adds to the cotangents, for a score with cotangent `dScore` of which `noise` cancelled.
  void reverse(int64_t row, int64_t i, int64_t j, double dScore, double noise);
  /// Ends a row: adds to the gradients of its query, or of the given row, and of parameters.
  void finishRow(int64_t row, double *dQuery, double *noiseSquared, ParameterGradients &gradients);
  /// Ends the head: adds to the gradients of parameters.
  void finish(ParameterGradients &gradients);

private:
  void finishProjection(int64_t row, ParameterGradients &gradients);
  void finishFactor(int64_t row, ParameterGradients &gradients);
  bool isInExtent(int64_t i, int64_t j) const { return std::abs(i - j) < problem.extent; }
  /// Returns the offset of a given row in the pack.
  int64_t placeOf(int64_t row) const;

  ContentVectors vectors;
  std::optional<ScalarEvaluator> factor;
  std::vector<double> factors; ///< of every row
  const ContentProblem &problem;
  const std::vector<double> &parameters;
  ContentHead head;
  double scale;
  std::vector<double> shifted;        ///< q + v
  std::vector<double> projected;      ///< (q + v) W
  std::vector<NoisySum> rowCotangent; ///< cotangent of the projected query of the current row
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_CONTENT_H
