//===- PEBuckets.h - Where the buckets of pe.bucket begin --------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEBUCKETS_H
#define PE_DIALECT_PE_PEBUCKETS_H

#include "dialect/PE/PECoordinates.h"

namespace mlir::pe {

/// For each bucket from the second on, the smallest distance that lies in it or in a later one. Of
/// bidirectional buckets, those of one side.
SmallVector<int64_t> bucketStarts(BucketOp bucket);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEBUCKETS_H
