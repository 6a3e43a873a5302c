//===- PEMerge.cpp - Verification of merged attentions --------------------===//
//
// Verifies constraints merge-C1 to merge-C6 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEAttention.h"

using namespace mlir;
using namespace mlir::pe;

/// Returns true if the sizes may be equal at run time.
static bool agree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

LogicalResult MergeOp::verify() {
  constexpr StringRef kNames[] = {"batch", "heads", "length", "head dim"};
  RankedTensorType first = getFirst().getType();
  auto verifySizes = [&](Value value, StringRef what, unsigned rank,
                         StringRef label) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    for (unsigned dim = 0; dim < rank; ++dim)
      if (!agree(first.getDimSize(dim), type.getDimSize(dim)))
        return emitOpError("expected the ")
               << kNames[dim] << " of the " << what << " to match the " << first.getDimSize(dim)
               << " of the first output, found " << type.getDimSize(dim)
               << "; shards of one attention are merged (" << label << ")";
    return success();
  };
  if (failed(verifySizes(getSecond(), "second output", 4, "merge-C1")) ||
      failed(verifySizes(getOutput(), "result", 4, "merge-C1")) ||
      failed(verifySizes(getFirstLse(), "first log-sum-exp", 3, "merge-C2")) ||
      failed(verifySizes(getSecondLse(), "second log-sum-exp", 3, "merge-C2")) ||
      failed(verifySizes(getLse(), "merged log-sum-exp", 3, "merge-C2")))
    return failure();
  for (RankedTensorType type : {getSecond().getType(), getOutput().getType()})
    if (type.getElementType() != first.getElementType()) // merge-C3
      return emitOpError("expected outputs of the same element type, found ")
             << first.getElementType() << " and " << type.getElementType() << " (merge-C3)";
  const NormalizerTraits &traits = traitsOf(getNormalizer());
  if (traits.statistic.empty()) // merge-C6
    return emitOpError("expected the normalizer ")
           << namesWithStatistic() << ", found " << stringifyNormalizer(getNormalizer())
           << ": its calls have no second result to merge by (merge-C6)";
  if (!getSink())
    return success();
  if (!traits.noSink.empty()) // merge-C4
    return emitOpError("expected no sink(...) under ")
           << stringifyNormalizer(getNormalizer()) << ", " << traits.noSink << " (merge-C4)";
  const int64_t sinks = cast<RankedTensorType>(getSink().getType()).getDimSize(0);
  if (!agree(sinks, first.getDimSize(1))) // merge-C5
    return emitOpError("expected a sink per head, ")
           << first.getDimSize(1) << ", found " << sinks << " (merge-C5)";
  return success();
}
