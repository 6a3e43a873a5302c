//===- PEMlpLayers.h - Shapes of a small MLP --------------------*- C++ -*-===//
//
// `pe.mlp` and its scalar form take the same list of tensors: w1, b1, w2, b2, ... Its shape rules
// are stated once here (constraints mlp-C1 to mlp-C6).
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEMLPLAYERS_H
#define PE_DIALECT_PE_PEMLPLAYERS_H

#include "mlir/IR/Operation.h"

namespace mlir::pe {

/// Checks the layers of `op`: pairs of weight and bias, w1[n1], then w[n_k, n_k-1], the last with
/// one row per head or one shared row.
LogicalResult verifyMlpLayers(Operation *op, ValueRange layers);
/// Checks how far an approximation may be off.
LogicalResult verifyMlpTolerance(Operation *op, const APFloat &tolerance);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEMLPLAYERS_H
