//===- PEScalars.h - Scalar ops used inside regions ----------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PESCALARS_H
#define PE_DIALECT_PE_PESCALARS_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEScalars.h.inc"

namespace mlir::pe {

/// Verifies `pe.cosine_sum` and its scalar form (cosine_sum-C1, C2).
LogicalResult verifyCosineSum(Operation *op, int64_t terms, const APFloat &base);

/// Checks that `op` is scalar code: an operation of the table in dialect/Math/ScalarOps.h or a
/// scalar op of pe, on single numbers (C4 to C6 of `label`).
LogicalResult verifyScalarOp(Operation &op, StringRef label = "bias_fn");

/// Maps an argument of a (nested) pe.sum to the value outside of the sums; returns other values
/// unchanged.
Value outsideOfSums(Value value);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESCALARS_H
