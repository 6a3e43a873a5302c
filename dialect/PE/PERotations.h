//===- PERotations.h - Rotations of queries and keys ---------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEROTATIONS_H
#define PE_DIALECT_PE_PEROTATIONS_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::pe {

/// base^(-2 pair / n) of f64 values.
Value buildRotaryFrequency(OpBuilder &builder, Location loc, Value base, Value pair, int64_t n);

} // namespace mlir::pe

#define GET_OP_CLASSES
#include "dialect/PE/PERotations.h.inc"

#endif // PE_DIALECT_PE_PEROTATIONS_H
