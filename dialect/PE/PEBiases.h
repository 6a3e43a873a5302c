//===- PEBiases.h - Additive biases --------------------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEBIASES_H
#define PE_DIALECT_PE_PEBIASES_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::pe {
/// Checks that `op` is scalar code: an operation of the table (dialect/Math/ScalarOps.h) or one of
/// pe's own, on single numbers (bias_fn-C4 to -C6).
LogicalResult verifyScalarOp(Operation &op);
} // namespace mlir::pe

#define GET_OP_CLASSES
#include "dialect/PE/PEBiases.h.inc"

#endif // PE_DIALECT_PE_PEBIASES_H
