//===- PEContents.h - Terms that depend on queries and distances -*- C++ -*-===//
#ifndef PE_DIALECT_PE_PECONTENTS_H
#define PE_DIALECT_PE_PECONTENTS_H

#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEContents.h.inc"

namespace mlir::pe {

/// The largest number of vectors of a content term of class `near`. The products of every query
/// with all of them are stored.
inline constexpr int64_t kMostNearVectors = 128;

/// The largest depth of a tensor in query(...), whose vectors a kernel keeps in registers.
inline constexpr int64_t kMostContentDepth = 64;

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PECONTENTS_H
