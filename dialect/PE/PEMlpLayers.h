//===- PEMlpLayers.h - Shapes of a small MLP --------------------*- C++ -*-===//
//
// Verifies the layers w1, b1, w2, b2, ... of `pe.mlp` and of its scalar form (constraints mlp-C1 to
// mlp-C6).
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEMLPLAYERS_H
#define PE_DIALECT_PE_PEMLPLAYERS_H

#include "mlir/IR/Operation.h"

namespace mlir::pe {

/// Checks the layers of `op`: pairs of a weight and a bias. The first weight is w1[n1], the others
/// are w[n_k, n_k-1]. The last one has one row per head or one shared row.
LogicalResult verifyMlpLayers(Operation *op, ValueRange layers);
/// Checks the tolerance of an approximation.
LogicalResult verifyMlpTolerance(Operation *op, const APFloat &tolerance);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEMLPLAYERS_H
