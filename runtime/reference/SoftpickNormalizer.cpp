//===- SoftpickNormalizer.cpp - Rectified softmax -------------------------===//
//
//   A_j = max(e^z_j - 1, 0) / L,  L = sum of |e^z_l - 1|,  and A = 0 if L = 0
//   dz_j = e^z_j / L ([z_j > 0] dA_j - sign(z_j) sum of A_l dA_l)
//
// with the subgradient 0 at z_j = 0. A row with L = 0 is one without keys. Numerator and
// denominator are multiplied by e^-m, where m is the largest logit or 0, and computed with expm1:
// nothing overflows, and logits near 0 keep all digits.
//
// The share e^z_j / L, the size of dA_j/dz_j, exceeds A_j without limit near z_j = 0. Kernels
// compute logits in float32, with errors relative to the terms that a logit sums, so the errors of
// the weights are relative to e^z_j / L times these terms. Bounds relative to A_j, as those of
// softmax, do not contain them. With t_l the terms of z_l and r = sum of e^z_l / L t_l, per unit of
// relative error:
//
//   |error of A_j| <= [z_j > 0] e^z_j / L t_j (1 - A_j) + A_j (r - e^z_j / L t_j)
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/RowNormalizer.h"

#include <algorithm>
#include <limits>

namespace pe::reference {
namespace {

/// The error of a float32 logit relative to its terms (Tolerance::perLogit of f32).
constexpr double kSingleError = 4.0 * 0x1p-24;

/// Returned by `normalize` if every logit is 0.
constexpr double kNoSum = -std::numeric_limits<double>::infinity();

double signOf(double z) { return z > 0.0 ? 1.0 : z < 0.0 ? -1.0 : 0.0; }

/// Returns (e^z - 1) e^-largest.
double excess(double z, double largest) {
  return z > 0.0 ? std::exp(z - largest) * -std::expm1(-z) : std::expm1(z) * std::exp(-largest);
}

class SoftpickNormalizer final : public Normalizer {
public:
  std::string_view keyword() const override { return "softpick"; }
  bool amplifiesErrors() const override { return true; }

  /// A row whose sum is 0 is one without keys: it reads no values, not even NaN.
  bool leavesOut(double statistic) const override { return statistic == kNoSum; }

  double normalize(NormalizerRow &row) const override {
    for (auto *list : {&row.shares, &row.slopes, &row.shareErrors, &row.weightErrors})
      list->assign(row.logits.size(), 0.0);
    double largest = 0.0, sum = 0.0;
    for (double z : row.logits)
      largest = std::max(largest, z);
    for (double z : row.logits)
      sum += std::fabs(excess(z, largest));
    if (sum == 0.0)
      return kNoSum;
    for (size_t n = 0; n < row.logits.size(); ++n) {
      const double z = row.logits[n];
      row.weights[n] = std::max(excess(z, largest), 0.0) / sum; // a NaN reaches all keys
      row.shares[n] = std::exp(z - largest) / sum;
      row.slopes[n] = signOf(z) * row.shares[n];
    }
    findErrors(row);
    return 0.0;
  }

  void reverse(NormalizerRow &row) const override {
    double mean = row.meanRounding, meanNoise = 0.0, meanError = 0.0;
    for (size_t n = 0; n < row.logits.size(); ++n) {
      mean += row.weights[n] * row.dWeights[n];
      meanNoise += row.weights[n] * row.dWeightNoise[n];
      meanError += row.weightErrors[n] * std::fabs(row.dWeights[n]);
    }
    for (size_t n = 0; n < row.logits.size(); ++n) {
      const bool isPicked = row.logits[n] > 0.0;
      const double own = isPicked ? row.dWeights[n] : 0.0;
      const double ownNoise = isPicked ? row.dWeightNoise[n] : 0.0;
      // 0 by definition where the logit is 0, also if the mean is NaN.
      row.dLogits[n] = row.logits[n] == 0.0 ? 0.0 : row.slopes[n] * (own - mean);
      row.dLogitNoise[n] = (std::fabs(row.slopes[n]) + kLeastWeight) * (ownNoise + meanNoise);
      row.dLogitErrors[n] =
          row.shareErrors[n] * std::fabs(own - mean) + std::fabs(row.slopes[n]) * meanError;
      if (hasUncertainSign(row, n))
        row.dLogitErrors[n] +=
            row.shares[n] * (std::fabs(row.dWeights[n]) + 2.0 * std::fabs(mean)) / kSingleError;
    }
  }

  const std::vector<double> *meanShares(const NormalizerRow &row) const override {
    return &row.slopes;
  }

private:
  /// Returns true if the error of a float32 logit may change its sign.
  static bool hasUncertainSign(const NormalizerRow &row, size_t n) {
    return row.logitTerms[n] > 0.0 && std::fabs(row.logits[n]) <= kSingleError * row.logitTerms[n];
  }

  /// Computes the errors of the shares and of the weights.
  static void findErrors(NormalizerRow &row) {
    const size_t count = row.logits.size();
    // A share of 0 has no error, although the terms of its logit may be infinite.
    std::vector<double> errors(count, 0.0);
    double all = 0.0;
    for (size_t n = 0; n < count; ++n) {
      if (row.shares[n] > 0.0)
        errors[n] = row.shares[n] * row.logitTerms[n];
      all += errors[n];
    }
    for (size_t n = 0; n < count; ++n) {
      const double others = all - errors[n];
      row.shareErrors[n] = errors[n] * std::fabs(1.0 - row.slopes[n]) + row.shares[n] * others;
      row.weightErrors[n] = row.weights[n] * others;
      if (row.logits[n] > 0.0 || hasUncertainSign(row, n))
        row.weightErrors[n] += errors[n] * (1.0 - row.weights[n]);
    }
  }
};

} // namespace

namespace normalizers {
const Normalizer &softpick() {
  static const SoftpickNormalizer instance;
  return instance;
}
} // namespace normalizers

} // namespace pe::reference
