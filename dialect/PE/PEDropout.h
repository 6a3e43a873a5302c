//===- PEDropout.h - Verification of dropout -------------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEDROPOUT_H
#define PE_DIALECT_PE_PEDROPOUT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::pe {

/// The tensor that dropout applies to. Its first dimension is the batch.
struct DroppedTensor {
  RankedTensorType type;
  StringRef name;
};

/// Verifies constraints dropout-C1 to dropout-C3 of docs/spec.md.
LogicalResult verifyDropout(Operation *op, const std::optional<APFloat> &probability, Value seed,
                            const DroppedTensor &dropped);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEDROPOUT_H
