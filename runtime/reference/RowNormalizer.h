//===- RowNormalizer.h - Weights from logits --------------------*- C++ -*-===//
//
// A normalizer computes the weights A of a row from its logits z, the statistic of the row (the
// second result of pe.attention), and the cotangents of z from those of A. It also states which
// operands and results of pe.attention and pe.merge it supports.
//
//   const Normalizer *normalizer = Normalizer::find("softmax");
//   double lse = normalizer->normalize(row); // fills row.weights
//   normalizer->reverse(row);                // fills row.dLogits
//
// To add a normalizer: write a file with the class and the function `const Normalizer &KEYWORD()`
// that returns its only instance, and add the keyword to Normalizers.def.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ROWNORMALIZER_H
#define PE_RUNTIME_REFERENCE_ROWNORMALIZER_H

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pe::reference {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The lower bound of a weight in term and noise magnitudes: a weight that vanishes in float64 may
/// remain a few times the smallest normal number (2^-126) in f32 (8 * 2^-24 of this is 2^-121).
inline constexpr double kLeastWeight = 0x1p-100;

/// The keyword of attentions and merges without one.
inline constexpr const char *kDefaultNormalizer = "softmax";

/// Returns log(1 / (1 + exp(-z))) without overflow.
inline double logSigmoid(double z) {
  return z >= 0.0 ? -std::log1p(std::exp(-z)) : z - std::log1p(std::exp(z));
}

/// One row of attention. Lists have one element per key that the row attends to, in ascending order
/// of the keys or, if the normalizer orders them, from the farthest to the nearest.
struct NormalizerRow {
  std::vector<double> logits;  ///< z
  std::optional<double> sink;  ///< logit of the sink
  std::vector<double> weights; ///< A
  double sinkWeight = 0.0;

  // The reverse reads these,
  std::vector<double> dWeights;     ///< cotangent of A
  std::vector<double> dWeightNoise; ///< magnitude of the terms of dWeights
  double dStatistic = 0.0;
  double dStatisticNoise = 0.0; ///< magnitude of the terms of dStatistic
  double meanRounding = 0.0;    ///< rounding error of the sum of A_l dA_l
  // and computes these.
  std::vector<double> dLogits;
  std::vector<double> dLogitNoise; ///< magnitude of the terms of dLogits
  double dSink = 0.0;
  double dSinkNoise = 0.0; ///< magnitude of the terms of dSink

  // Only if the normalizer amplifies errors of logits. Each error is per unit of the error of a
  // logit relative to its terms.
  std::vector<double> logitTerms;   ///< the magnitude of the terms of z; given
  std::vector<double> shares;       ///< the size of dA_j/dz_j
  std::vector<double> slopes;       ///< shares with the sign of z, 0 at 0
  std::vector<double> shareErrors;  ///< of shares
  std::vector<double> weightErrors; ///< of A
  std::vector<double> dLogitErrors; ///< of dLogits
};

/// One row of pe.merge, which joins two attentions over parts of the keys.
struct MergeRow {
  double logs[2] = {0.0, 0.0}; ///< the statistics l_n of the parts
  double sink = -infinity;     ///< logit of the sink; -inf without one
  // Results.
  double weights[2] = {0.0, 0.0}; ///< w_n in o = w_1 o_1 + w_2 o_2
  double sinkWeight = 0.0;
  double log = 0.0;      ///< the statistic of the merged row
  double logTerms = 0.0; ///< the magnitude of the terms that it sums
};

/// The reverse of one row of pe.merge, from the weights that the forward pass computed.
struct MergeReverse {
  double weights[2], sinkWeight;
  double products[2] = {0.0, 0.0};   ///< <dO, w_n o_n>
  double magnitudes[2] = {0.0, 0.0}; ///< the sum of the magnitudes of its terms
  double dLog = 0.0;
  // Results.
  double dLogs[2] = {0.0, 0.0};
  double noise[2] = {0.0, 0.0}; ///< magnitude of the terms of dLogs
  double dSink = 0.0, dSinkNoise = 0.0;
};

/// Merges attentions over parts of the keys.
class Merger {
public:
  virtual ~Merger() = default;
  virtual void merge(MergeRow &row) const = 0;
  virtual void reverse(MergeReverse &row) const = 0;
};

class Normalizer {
public:
  virtual ~Normalizer() = default;

  /// Returns the normalizer of this keyword, or null if there is none.
  static const Normalizer *find(std::string_view keyword);
  /// Returns the keywords of all normalizers, or of those that pe.merge supports, for messages:
  /// "'softmax' or 'stick_breaking'".
  static std::string keywords(bool onlyMergers = false);

  virtual std::string_view keyword() const = 0;

  /// Returns true if the weights depend on the order of the keys. Queries then attend to the keys
  /// before them, as the options of stick-breaking state, and the statistic is the logarithm of the
  /// mass that remains.
  virtual bool ordersKeys() const { return false; }
  /// Returns true if a sink may take part of the mass.
  virtual bool takesSink() const { return false; }
  /// Returns the statistic of a row without keys, or nullopt if rows have no statistic.
  virtual std::optional<double> emptyStatistic() const { return std::nullopt; }
  /// Returns true if a row of this statistic has neither an output nor gradients.
  virtual bool leavesOut(double statistic) const { return false; }

  /// Returns true if the derivative of a weight by its logit may exceed the weight, so that a small
  /// error of the logit is a large relative error of the weight.
  virtual bool amplifiesErrors() const { return false; }

  /// Computes the weights, which are 0 before, and returns the statistic, or 0 if there is none.
  virtual double normalize(NormalizerRow &row) const = 0;
  /// Returns the magnitude of the terms that the statistic sums.
  virtual double statisticTerms(const NormalizerRow &row, double statistic) const { return 0.0; }

  /// Computes the cotangents of the logits and of the sink.
  virtual void reverse(NormalizerRow &row) const = 0;
  /// Returns the decrease of each dz_j per unit of the sum of A_l dA_l, or null if dz does not
  /// depend on this sum. The decrease of the sink is its weight.
  virtual const std::vector<double> *meanShares(const NormalizerRow &row) const { return nullptr; }

  /// Returns the functions of pe.merge, or null if parts cannot be merged.
  virtual const Merger *merger() const { return nullptr; }
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROWNORMALIZER_H
