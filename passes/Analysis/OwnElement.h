//===- OwnElement.h - reads of an element per pair ------------------------===//
//
// The gradient of a tensor that scalar code reads at indices of the pair is a sum over the pairs
// that read the same element. If no two pairs of a head do, there is nothing to sum, and GPU
// kernels need no order.
//
//   bias[b, h, i, j]                                                an element per pair
//   select(i - j < 64, profile[b, h, i, min(i - j, 63)], 0)         the same: at the differences
//       where the value counts, the minimum is i - j
//   table[h, clamp(i - j, 0, 63)]                                   shared by all pairs at i - j
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_OWNELEMENT_H
#define PE_PASSES_ANALYSIS_OWNELEMENT_H

#include "dialect/PE/PE.h"
#include "dialect/PE/PEScalars.h"

namespace mlir::pe {

/// A number of elements, as a size expression, that an axis must have so that no index of a call
/// is clamped. It is also required that no position of a query, or a key, is negative, if the
/// index is one.
struct AxisLength {
  enum Index { Distance, Query, Key } index;
  unsigned axis;
  std::string least;
};

/// Returns the lengths for which no two pairs of one batch and head with i - j in `range` read the
/// same element and depend on it: none if that is so in every call, and std::nullopt if it is not
/// known for any lengths. `op` has the region (see leadingVariablesOf), and `isWhole` returns true
/// for an axis that has an element for every query, or key, of a call.
std::optional<SmallVector<AxisLength>>
lengthsOfOwnElements(ReadOp read, Operation *op, DifferenceRange range,
                     llvm::function_ref<bool(unsigned axis, bool isQuery)> isWhole);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_OWNELEMENT_H
