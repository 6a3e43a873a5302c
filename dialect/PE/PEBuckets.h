//===- PEBuckets.h - The bounds of the buckets of pe.bucket ------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEBUCKETS_H
#define PE_DIALECT_PE_PEBUCKETS_H

#include "dialect/PE/PECoordinates.h"

namespace mlir::pe {

/// Returns, for each bucket except the first, the smallest distance in it or in a later bucket. For
/// bidirectional buckets, returns the distances of one side.
SmallVector<int64_t> bucketStarts(BucketOp bucket);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEBUCKETS_H
