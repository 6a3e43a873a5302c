//===- SoftmaxNormalizer.cpp - Softmax, with a sink -----------------------===//
//
//   A_j = exp(z_j) / (sum of exp(z_l) + exp(s)),  statistic: the log of the denominator
//   dz_j = A_j (dA_j - sum of A_l dA_l) + A_j dlse
//
// where s is the logit of the sink, if any; the same holds for it, with dA = 0. Two parts with the
// outputs o_n and the statistics l_n are merged by
//
//   l = log(exp(l_1) + exp(l_2) + exp(s)),  w_n = exp(l_n - l),  o = w_1 o_1 + w_2 o_2
//   dl_n = w_n (<dO, o_n> - <dO, o> + dl),  ds = w_s (-<dO, o> + dl),  dO_n = w_n dO
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/RowNormalizer.h"

#include <algorithm>

namespace pe::reference {
namespace {

/// Returns the largest logit of the row, including the sink, or NaN if one is NaN.
double largestLogit(const NormalizerRow &row) {
  double largest = row.sink.value_or(-infinity);
  for (double logit : row.logits)
    if (!(logit <= largest) && !std::isnan(largest))
      largest = logit;
  return largest;
}

/// Returns exp(x - largest), or 0 if x is -inf (even if `largest` is).
double share(double x, double largest) { return x == -infinity ? 0.0 : std::exp(x - largest); }

class SoftmaxMerger final : public Merger {
public:
  void merge(MergeRow &row) const override {
    const double a = row.logs[0], b = row.logs[1], s = row.sink;
    double largest = std::max(s, std::max(a, b));
    if (std::isnan(a) || std::isnan(b) || std::isnan(s))
      largest = std::nan("");
    if (largest == -infinity) {
      row.log = -infinity;
      return; // the weights are 0
    }
    const double ea = share(a, largest), eb = share(b, largest), es = share(s, largest);
    const double sum = ea + eb + es;
    row.log = largest + std::log(sum);
    row.weights[0] = ea / sum;
    row.weights[1] = eb / sum;
    row.sinkWeight = es / sum;
    row.logTerms = std::fabs(largest) + std::log(sum);
  }

  void reverse(MergeReverse &row) const override {
    const double *part = row.products, *size = row.magnitudes;
    for (int n = 0; n < 2; ++n) {
      row.dLogs[n] = part[n] - row.weights[n] * (part[0] + part[1]) + row.weights[n] * row.dLog;
      row.noise[n] = size[n] + row.weights[n] * (size[0] + size[1] + std::fabs(row.dLog));
    }
    row.dSink = row.sinkWeight * (row.dLog - part[0] - part[1]);
    row.dSinkNoise = row.sinkWeight * (size[0] + size[1] + std::fabs(row.dLog));
  }
};

class SoftmaxNormalizer final : public Normalizer {
public:
  std::string_view keyword() const override { return "softmax"; }
  bool takesSink() const override { return true; }
  std::optional<double> emptyStatistic() const override { return -infinity; }
  /// All logits are -inf: a bias of -inf has masked every key.
  bool leavesOut(double lse) const override { return lse == -infinity; }

  double normalize(NormalizerRow &row) const override {
    const double largest = largestLogit(row);
    row.sinkWeight = 0.0;
    if (largest == -infinity)
      return -infinity;
    if (row.sink)
      row.sinkWeight = std::exp(*row.sink - largest);
    double sum = row.sinkWeight;
    for (size_t n = 0; n < row.logits.size(); ++n) {
      row.weights[n] = std::exp(row.logits[n] - largest);
      sum += row.weights[n];
    }
    for (double &weight : row.weights)
      weight /= sum;
    row.sinkWeight /= sum;
    return largest + std::log(sum);
  }

  double statisticTerms(const NormalizerRow &row, double lse) const override {
    const double largest = largestLogit(row);
    return std::fabs(largest) + std::fabs(lse - largest);
  }

  void reverse(NormalizerRow &row) const override {
    double mean = row.meanRounding, meanNoise = 0.0;
    for (size_t n = 0; n < row.logits.size(); ++n) {
      mean += row.weights[n] * row.dWeights[n];
      meanNoise += row.weights[n] * row.dWeightNoise[n];
    }
    for (size_t n = 0; n < row.logits.size(); ++n) {
      row.dLogits[n] = row.weights[n] * (row.dWeights[n] - mean + row.dStatistic);
      row.dLogitNoise[n] =
          (row.weights[n] + kLeastWeight) * (row.dWeightNoise[n] + meanNoise + row.dStatisticNoise);
    }
    row.dSink = row.sinkWeight * (row.dStatistic - mean);
    row.dSinkNoise = (row.sinkWeight + kLeastWeight) * (meanNoise + row.dStatisticNoise);
  }

  const std::vector<double> *meanShares(const NormalizerRow &row) const override {
    return &row.weights;
  }

  const Merger *merger() const override {
    static const SoftmaxMerger merger;
    return &merger;
  }
};

} // namespace

namespace normalizers {
const Normalizer &softmax() {
  static const SoftmaxNormalizer instance;
  return instance;
}
} // namespace normalizers

} // namespace pe::reference
