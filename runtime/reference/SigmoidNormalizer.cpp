//===- SigmoidNormalizer.cpp - The sigmoid of each logit ------------------===//
//
//   A_j = sigma(z_j),  dz_j = A_j sigma(-z_j) dA_j
//
// The weight of a key does not depend on the other keys, so a row has no statistic and takes no
// sink, and the outputs of parts of the keys are added up without pe.merge.
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/RowNormalizer.h"

namespace pe::reference {
namespace {

class SigmoidNormalizer final : public Normalizer {
public:
  std::string_view keyword() const override { return "sigmoid"; }

  double normalize(NormalizerRow &row) const override {
    for (size_t n = 0; n < row.logits.size(); ++n)
      row.weights[n] = std::exp(logSigmoid(row.logits[n]));
    return 0.0;
  }

  void reverse(NormalizerRow &row) const override {
    for (size_t n = 0; n < row.logits.size(); ++n) {
      // 1 - A would lose all digits of a weight near 1.
      const double rest = std::exp(logSigmoid(-row.logits[n]));
      row.dLogits[n] = row.weights[n] * rest * row.dWeights[n];
      row.dLogitNoise[n] =
          (row.weights[n] + kLeastWeight) * (rest + kLeastWeight) * row.dWeightNoise[n];
    }
  }
};

} // namespace

namespace normalizers {
const Normalizer &sigmoid() {
  static const SigmoidNormalizer instance;
  return instance;
}
} // namespace normalizers

} // namespace pe::reference
