//===- ScoreFactor.h - score factors that queries can carry -----*- C++ -*-===//
//
// A function of the score that is s times a value of the query,
//
//   s * log(1 + i) * g[h]
//
// need not be evaluated for every pair: the query's elements can be multiplied by that value once,
// before the product with keys. The value is the function at s = 1.
//
// Queries without keys must be unaffected: infinity times the 0 of their scores' cotangents would
// be a NaN in the gradients of all keys. So every factor that depends on the position must be
// finite at every position, which is checked by intervals. A factor that depends only on the head,
// such as 1 / tau[h], is the same for rows with keys, where a non-finite value shows in any case.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_SCOREFACTOR_H
#define PE_PASSES_ANALYSIS_SCOREFACTOR_H

#include "dialect/PE/PE.h"

namespace mlir::pe {

/// Returns true if the function is the score times a value that depends on batch, head and query
/// and that is finite at every position.
bool isQueryFactor(ScoreFnOp function);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_SCOREFACTOR_H
