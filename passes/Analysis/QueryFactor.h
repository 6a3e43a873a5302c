//===- QueryFactor.h - factors of scores and weights per query --*- C++ -*-===//
//
// A score function that multiplies s by a value that depends only on the query,
//
//   s * log(1 + i) * g[h]
//
// need not be evaluated for every pair: the query's elements can be multiplied by that value once,
// before the product with keys. The value is the function at s = 1. In the same way, a factor on
// the weights of a row, such as sigmoid(g[b, h, i]), can multiply the row's output.
//
// Queries without keys must be unaffected: the cotangents of their scores are 0, and 0 times
// infinity would put NaN into the gradients of all keys. Therefore every factor that depends on the
// position must be finite at every position, which interval arithmetic checks. A factor that
// depends only on the head, such as 1 / tau[h], need not be finite: it also applies to rows with
// keys, whose results show a non-finite value in any case.
//
// Only pe-classify-functions calls this code; everyone else reads the attribute `per_query`.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_QUERYFACTOR_H
#define PE_PASSES_ANALYSIS_QUERYFACTOR_H

#include "dialect/PE/PE.h"

namespace mlir::pe {

/// Returns true if the function is the score times a value that depends on batch, head and query
/// and that is finite at every position.
bool isPerQuery(ScoreFnOp function);

/// The values whose product is a factor on weights.
struct FactorParts {
  SmallVector<Value> perQuery; ///< depend on batch, head and query; finite at every position
  SmallVector<Value> divisors; ///< the same; their reciprocals, which are finite, are factors
  SmallVector<Value> perPair;  ///< all others
};
/// Splits the product that a factor yields. Constants are per query only if all of it is.
FactorParts findParts(FactorFnOp function);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_QUERYFACTOR_H
