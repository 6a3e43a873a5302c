//===- DistanceEntries.h - tables with an entry per distance ----*- C++ -*-===//
//
// The distances of a call are those of r rows and c columns, r + c - 1 of them. A table over them
// has the distance of row 0 and the last column in entry 0:
//
//   distance(t) = t - (c - 1) + q_start - k_start
//
// By default q_start is k_start + c - r, so that distance(t) = t - (r - 1) does not depend on c. A
// table therefore holds the distances of `capacity` keys, at least c, and serves every call with as
// many rows and at most `capacity` keys.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_DISTANCEENTRIES_H
#define PE_PASSES_TOTILE_DISTANCEENTRIES_H

#include "passes/ToTile/TileBuilder.h"

namespace mlir::tile {

/// The entries of a table that a mask keeps, as size expressions.
struct DistanceEntries {
  /// The mask keeps distances of at least `least`, which may be DifferenceRange::kUnboundedMin.
  explicit DistanceEntries(int64_t least);

  std::string first, count; // of the call
  std::string prepared;     // the number of entries from `first` on that a table holds
};

/// Emits the distance of an entry.
Value distanceOfEntry(Scalar &s, Value entry);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_DISTANCEENTRIES_H
