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

/// Returns true if no two pairs of one batch and head with i - j in `range` read the same element
/// and depend on it. `op` has the region (see leadingVariablesOf), and `isWhole` returns true for
/// an axis that has an element for every query, or key, of a call.
bool readsOwnElement(ReadOp read, Operation *op, DifferenceRange range,
                     llvm::function_ref<bool(unsigned axis, bool isQuery)> isWhole);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_OWNELEMENT_H
