//===- StickBreakingNormalizer.cpp - Stick-breaking -----------------------===//
//
// The nearest key takes sigma(z) of the stick, and each farther key sigma(z) of the rest:
//
//   log A_j = log sigma(z_j) + sum over the nearer keys l of log sigma(-z_l)
//   statistic: the log of the remaining mass, the sum of all log sigma(-z_l)
//   dz_l = A_l dA_l sigma(-z_l) - sigma(z_l) (sum over the farther keys j of A_j dA_j + dlog)
//
// Two parts with the outputs o_n and the statistics l_n, the first on the nearer keys, are merged
// by
//
//   l = l_1 + l_2,  w_1 = 1,  w_2 = exp(l_1),  dl_1 = w_2 <dO, o_2> + dl,  dl_2 = dl
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/RowNormalizer.h"

namespace pe::reference {
namespace {

class StickBreakingMerger final : public Merger {
public:
  void merge(MergeRow &row) const override {
    row.weights[0] = 1.0;
    row.weights[1] = std::exp(row.logs[0]);
    row.log = row.logs[0] + row.logs[1];
    row.logTerms = std::fabs(row.logs[0]) + std::fabs(row.logs[1]);
  }

  void reverse(MergeReverse &row) const override {
    row.dLogs[0] = row.products[1] + row.dLog;
    row.dLogs[1] = row.dLog;
    row.noise[0] = row.magnitudes[1] + std::fabs(row.dLog);
  }
};

class StickBreakingNormalizer final : public Normalizer {
public:
  std::string_view keyword() const override { return "stick_breaking"; }
  bool ordersKeys() const override { return true; }
  std::optional<double> emptyStatistic() const override { return 0.0; }

  double normalize(NormalizerRow &row) const override {
    double logRemaining = 0.0;
    for (size_t n = row.logits.size(); n-- > 0;) {
      row.weights[n] = std::exp(logSigmoid(row.logits[n]) + logRemaining);
      logRemaining += logSigmoid(-row.logits[n]);
    }
    return logRemaining;
  }

  void reverse(NormalizerRow &row) const override {
    double older = 0.0, olderNoise = 0.0;
    for (size_t n = 0; n < row.logits.size(); ++n) {
      const double own = row.weights[n] * row.dWeights[n];
      const double ownNoise = (row.weights[n] + kLeastWeight) * row.dWeightNoise[n];
      const double taken = std::exp(logSigmoid(row.logits[n]));
      const double passed = std::exp(logSigmoid(-row.logits[n]));
      row.dLogits[n] = own * passed - taken * (older + row.dStatistic);
      row.dLogitNoise[n] =
          ownNoise * passed + (taken + kLeastWeight) * (olderNoise + row.dStatisticNoise);
      older += own;
      olderNoise += ownNoise;
    }
  }

  const Merger *merger() const override {
    static const StickBreakingMerger merger;
    return &merger;
  }
};

} // namespace

namespace normalizers {
const Normalizer &stick_breaking() {
  static const StickBreakingNormalizer instance;
  return instance;
}
} // namespace normalizers

} // namespace pe::reference
