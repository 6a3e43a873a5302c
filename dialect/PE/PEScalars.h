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

/// The constraints of `pe.cosine_sum` and its scalar form (cosine_sum-C1, C2).
LogicalResult verifyCosineSum(Operation *op, int64_t terms, const APFloat &base);

/// The value of a region that an argument of a sum inside it stands for; any other, itself.
Value outsideOfSums(Value value);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESCALARS_H
