//===- ScoreFactor.h - Factors on the score that a query may carry -*- C++ -*-===//
//
// A function of the score that is s times a number of the query,
//
//   s * log(1 + i) * g[h]
//
// need not be evaluated for every pair: the query's own elements may be multiplied by that number,
// once, before anything is multiplied with keys. The number is the function at s = 1.
//
// Queries that see no key must not notice it: infinity times the 0 of their scores' cotangents
// would be a NaN in the gradients of all keys. So what depends on the position has to be finite at
// every position, which intervals show. A number of the head alone, like 1 / tau[h], is the same
// for rows with keys, which say so themselves if it is not finite.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_SCOREFACTOR_H
#define PE_PASSES_ANALYSIS_SCOREFACTOR_H

#include "dialect/PE/PE.h"

namespace mlir::pe {

/// Whether the function is the score times a number that depends on batch, head and query, and that
/// is finite at every position.
bool isQueryFactor(ScoreFnOp function);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_SCOREFACTOR_H
