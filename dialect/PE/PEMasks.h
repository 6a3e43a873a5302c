//===- PEMasks.h - Masks -------------------------------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEMASKS_H
#define PE_DIALECT_PE_PEMASKS_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEMasks.h.inc"

namespace mlir::pe {

/// Creates a mask of positions that keeps at least `range`; null if it keeps all pairs.
Value createRangeMask(OpBuilder &builder, Location loc, const DifferenceRange &range);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEMASKS_H
