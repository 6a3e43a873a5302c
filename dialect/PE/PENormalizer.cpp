//===- PENormalizer.cpp - Properties of normalizers -----------------------===//
#include "dialect/PE/PENormalizer.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pe;

const NormalizerTraits &mlir::pe::traitsOf(Normalizer normalizer) {
  static constexpr NormalizerTraits kSoftmax{false, true, true, "the log-sum-exp", ""};
  static constexpr NormalizerTraits kStickBreaking{
      true, false, false, "the logarithm of the remaining mass",
      "which has no denominator that a sink could join"};
  static constexpr NormalizerTraits kSigmoid{false, false, false, "",
                                             "which has no denominator that a sink could join"};
  static constexpr NormalizerTraits kSoftpick{false, false, false, "",
                                              "where only keys join the denominator; use softmax"};
  switch (normalizer) {
  case Normalizer::Softmax:
    return kSoftmax;
  case Normalizer::StickBreaking:
    return kStickBreaking;
  case Normalizer::Sigmoid:
    return kSigmoid;
  case Normalizer::Softpick:
    return kSoftpick;
  }
  llvm_unreachable("all normalizers are listed");
}

std::string mlir::pe::namesWithStatistic() {
  SmallVector<StringRef> names;
  for (uint32_t kind = 0; kind <= getMaxEnumValForNormalizer(); ++kind)
    if (!traitsOf(static_cast<Normalizer>(kind)).statistic.empty())
      names.push_back(stringifyNormalizer(static_cast<Normalizer>(kind)));
  return llvm::join(names, " or ");
}
