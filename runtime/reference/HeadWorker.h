//===- HeadWorker.h - Attention of one head in float64 ----------*- C++ -*-===//
//
// Computes the rows of one (batch, query head), forward (HeadWorker.cpp) and in reverse
// (HeadReverse.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_HEADWORKER_H
#define PE_RUNTIME_REFERENCE_HEADWORKER_H

#include "runtime/reference/AttentionProblem.h"
#include "runtime/reference/Rounding.h"

#include <cmath>
#include <optional>
#include <vector>

namespace pe::reference {

inline double dot(const double *a, const double *b, int64_t count) {
  double sum = 0.0;
  for (int64_t d = 0; d < count; ++d)
    sum += a[d] * b[d];
  return sum;
}

/// Returns the sum of |a_d b_d|.
inline double dotOfMagnitudes(const double *a, const double *b, int64_t count) {
  double sum = 0.0;
  for (int64_t d = 0; d < count; ++d)
    sum += std::fabs(a[d] * b[d]);
  return sum;
}

inline void addSquares(double *target, double factor, const double *source, int64_t count) {
  for (int64_t d = 0; d < count; ++d)
    target[d] += (factor * source[d]) * (factor * source[d]);
}

inline void addScaled(double *target, double factor, const double *source, int64_t count) {
  for (int64_t d = 0; d < count; ++d)
    target[d] += factor * source[d];
}

inline double normOf(const double *a, int64_t count) { return std::sqrt(dot(a, a, count)); }

/// The contribution of one head to the gradients.
struct HeadGradients {
  std::vector<double> q;
  std::vector<double> qNoiseSquared;
  std::vector<double> k;
  std::vector<double> kNoiseSquared;
  std::vector<double> v;
  std::vector<double> vTerms;
  ParameterGradients parameters;
  double biasNoiseSquared = 0.0;
  /// The effects of errors of logits (NoisyGradient); empty if the normalizer does not amplify
  /// them.
  std::vector<double> qErrorSquared;
  std::vector<double> kErrorSquared;
  std::vector<double> vErrorSquared;
  std::vector<double> parameterErrorSquared;
};

/// Computes one (batch, query head).
class HeadWorker {
public:
  HeadWorker(const AttentionProblem &problem, const AttentionInputs &inputs, int64_t item);

  /// Writes the head's rows of `outputs`; returns the largest |logit| of Results::maxLogit.
  double forward(AttentionOutputs &outputs);
  HeadGradients reverse(const AttentionCotangents &cotangents);
  /// Reads and bad scores that `forward` found.
  ReadTally reads;
  std::optional<BadScore> badScore;

private:
  /// The keys that a pass attends to if keys are ordered: those before or those after the query.
  enum class Side : uint8_t { Before, After };
  bool startRow(int64_t row, Side side);
  void findKeys(int64_t row, Side side);
  void noteBadScore(Token query, Token key, double ofScore, double ofBias);
  double termsOfLogit(int64_t row, int64_t key, double ofScore, double ofBias);
  bool isOnSide(int64_t i, int64_t j, Side side) const;
  /// The sides whose outputs are averaged.
  std::vector<Side> sides() const {
    return problem.hasBothSides ? std::vector{Side::Before, Side::After}
                                : std::vector{Side::Before};
  }
  void rotate(std::vector<double> &rows, bool areQueries) const;
  void rotateBack(std::vector<double> &rows, bool areQueries) const;
  void rotateValues(std::vector<double> &rows, bool areQueries, bool isBack) const;
  double valueMagnitude() const;
  void rotateOutput(AttentionOutputs &outputs) const;
  Token queryAt(int64_t row) const { return problem.positions.query(batch, row); }
  Token keyAt(int64_t column) const { return problem.positions.key(batch, column); }
  Rotation::Place placeAt(bool isQuery, int64_t row) const {
    return {batch, head, positionAt(isQuery, row), isQuery, row};
  }
  int64_t positionAt(bool isQuery, int64_t row) const {
    return (isQuery ? queryAt(row) : keyAt(row)).position;
  }
  /// Returns the magnitude of the score function's argument for key `n` of the row; 0 without a
  /// score function.
  double scoreBefore(int64_t row, size_t n) const {
    return score ? std::fabs(scaledScore(row, keys[n])) : 0.0;
  }
  double scaledScore(int64_t row, int64_t key) const {
    return problem.scale *
           dot(q.data() + row * sizes.headDim, k.data() + key * sizes.headDim, sizes.headDim);
  }
  double normalize() {
    std::vector<double> &weights = current.weights;
    const double statistic = normalizer.normalize(current);
    for (size_t n = 0; n < keys.size(); ++n) {
      if (weights[n] == 0.0 && !std::isfinite(factors[n]))
        factors[n] = 0.0; // a pair without weight has factor 0
      valueWeights[n] = weights[n] * factors[n];
    }
    if (problem.rounding)
      for (std::vector<double> *list : {&weights, &valueWeights})
        roundAll(*list, *problem.rounding);
    return statistic;
  }
  double meanShare(size_t n) const { return (*normalizer.meanShares(current))[n]; }
  double roundMean(int64_t row, const double *dO);
  void reverseRemainder(double statistic, const double *dO, HeadGradients &gradients);
  void reverseSink(HeadGradients &gradients);
  void reverseRow(int64_t row, const std::vector<double> &dO, double statisticCotangent,
                  HeadGradients &gradients);
  void reverseValues(int64_t row, const double *dO, HeadGradients &gradients);
  void reverseScores(int64_t row, HeadGradients &gradients);

  void reverseShifts(int64_t key, double dScore, double noise, int64_t row,
                     ParameterGradients &gradients) const;
  void reverseFactor(size_t n, double product, double noise, HeadGradients &gradients);
  double reverseParameters(int64_t row, size_t n, HeadGradients &gradients);
  void addRounding(ParameterGradients &gradients);
  void addRoundingOfTurned(HeadGradients &gradients) const;

  const std::vector<double> *vectorOf(int64_t row, int64_t key);
  void addOutput(int64_t row, double statistic, double share, AttentionOutputs &outputs);

  const AttentionProblem &problem;
  const AttentionSizes &sizes;
  const Normalizer &normalizer;
  int64_t item;
  int64_t batch;
  int64_t head;
  int64_t keyItem;          ///< index of (batch, key head)
  bool isLearned;           ///< true if a rotation has parameters
  bool hasErrors;           ///< true if the normalizer amplifies errors of logits
  std::vector<double> rawQ; ///< rows before the rotation, if it is learned
  std::vector<double> rawK;
  std::vector<double> q; ///< rotated rows of this head
  std::vector<double> k;
  std::vector<double> v;
  std::vector<double> valueNorms; ///< |v_j|
  std::optional<ScalarEvaluator> bias;
  std::optional<ScalarEvaluator> score;
  std::optional<ScalarEvaluator> factor;
  std::optional<ScalarEvaluator> sinkCode;
  std::vector<ContentWorker> contents;
  std::optional<ContentVectors> valueContent;
  MaskEvaluator mask;

  // The current row: its unmasked keys in the order of NormalizerRow, and values per key.
  NormalizerRow current;
  std::vector<int64_t> keys;
  std::optional<int64_t> ownKey;    ///< the key that gets the remainder
  std::vector<double> factors;      ///< f
  std::vector<double> valueWeights; ///< A f
  double meanError = 0.0;           ///< rounding error of the sum of A_l dA_l
  ParameterGradients rowShares;     ///< the effect of a unit of meanError on the parameters
  ParameterGradients errorShares;   ///< noiseSquared: the effect of errors of logits on them
  ParameterGradients unused;        ///< gradients of a reverse that computes a derivative only
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_HEADWORKER_H
