//===- PECoordinates.h - Coordinates of a (query, key) pair --*- C++ -*-===//
#ifndef PE_DIALECT_PE_PECOORDINATES_H
#define PE_DIALECT_PE_PECOORDINATES_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PECoordinates.h.inc"

namespace mlir::pe {

/// Returns, for each bucket except the first, the smallest distance in it or in a later bucket. For
/// bidirectional buckets, returns the distances of one side.
SmallVector<int64_t> bucketStarts(BucketOp bucket);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PECOORDINATES_H
