//===- PEDropout.cpp - Verification of dropout ----------------------------===//
#include "dialect/PE/PEDropout.h"

using namespace mlir;

LogicalResult mlir::pe::verifyDropout(Operation *op, const std::optional<APFloat> &probability,
                                      Value seed, const DroppedTensor &dropped) {
  if (probability.has_value() != static_cast<bool>(seed)) // dropout-C1
    return op->emitOpError("expected both a probability of dropout and a seed, found only ")
           << (seed ? "the seed" : "the probability") << " (dropout-C1)";
  if (!seed)
    return success();
  const double p = probability->convertToDouble();
  if (!(p >= 0.0 && p < 1.0)) // dropout-C2
    return op->emitOpError("expected a probability of dropout in [0, 1), found ")
           << p << " (dropout-C2)";
  auto seeds = cast<RankedTensorType>(seed.getType());
  if (seeds.getRank() == 0)
    return success();
  const int64_t expected = dropped.type.getDimSize(0), found = seeds.getDimSize(0);
  if (ShapedType::isDynamic(expected) || ShapedType::isDynamic(found) || expected == found)
    return success();
  return op->emitOpError("expected the batch of the seeds to match the ") // dropout-C3
         << expected << " of " << dropped.name << ", found " << found << " (dropout-C3)";
}
