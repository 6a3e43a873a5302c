//===- PERotations.cpp - Angles of rotations ------------------------------===//

#include "dialect/PE/PERotations.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PERotations.cpp.inc"

LogicalResult RotaryOp::verify() {
  if (std::optional<int64_t> dims = getRotaryDims(); dims && (*dims < 2 || *dims % 2 != 0))
    return emitOpError("expected rotary_dims to be a positive even number, found ")
           << *dims << "; dims turn in pairs (rotary-C1)";
  double base = getBase().convertToDouble();
  if (!isFiniteInF32(base) || base <= 1.0)
    return emitOpError("expected base to be a finite number above 1, found ")
           << base << " (rotary-C2)";
  return success();
}

int64_t RotaryOp::getRotatedDims(int64_t headDim) { return getRotaryDims().value_or(headDim); }

double RotaryOp::getFrequency(int64_t pair, int64_t headDim) {
  return std::pow(getBase().convertToDouble(), -2.0 * pair / getRotatedDims(headDim));
}

bool RotaryOp::isInterleavedPairs() { return getInterleaved(); }

LogicalResult RotaryOp::verifyHeadDim(int64_t headDim,
                                      function_ref<InFlightDiagnostic()> emitError) {
  int64_t dims = getRotatedDims(headDim);
  if (dims % 2 != 0) // rotary-C3
    return emitError() << "expected an even head dim to rotate in pairs, found " << headDim
                       << "; give rotary_dims an even number below it (rotary-C3)";
  if (dims > headDim) // rotary-C4
    return emitError() << "expected rotary_dims of at most the head dim " << headDim << ", found "
                       << dims << " (rotary-C4)";
  return success();
}
