//===- Structure.h - the cheapest exact class of each bias term -*- C++ -*-===//
//
// The cost of a term depends on its class, not on how it is written. pe-split-terms rewrites the
// biases of an attention as a sum of `pe.term` ops, each of one class with a region per part
// (dialect/PE/PETerms.td):
//
//   class       value                                  forward               backward
//   row         f(b, h, i)                             one add per query     row sums
//   column      f(b, h, j)                             one add per score     column sums
//   row_column  f(b, h, i) + g(b, h, j)                one add per score     row and column sums
//   affine      c(b, h) * (i - j)                      one add per score     diagonal sums
//   distance    f(h, i - j)                            a window of a table   diagonal sums
//   segments    s(h) * p_h(u(h, i - j) * r(h, i))      table of segments     moments per segment
//               with p_h a piecewise polynomial, or approximated by one
//   general     anything else                          its code per score    reverse mode
//
// Worked example:
//
//   AttentionOp attention = ...;                        // after pe-split-terms
//   FailureOr<SmallVector<TermOp>> terms = termsOf(attention);
//   for (TermOp term : *terms)
//     if (term.getTermClass() == TermClass::Distance)
//       // table[h, t] = emitScalar(term.getPartValue(TermPart::Distance)) with d = distance t
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_STRUCTURE_H
#define PE_PASSES_ANALYSIS_STRUCTURE_H

#include "passes/Analysis/Dependence.h"

namespace mlir::pe {

/// Returns the terms of an attention, in the order of its biases. Fails with an error if a bias is
/// not a `pe.term`.
FailureOr<SmallVector<TermOp>> termsOf(AttentionOp attention);

/// Fails with an error if a content term of the attention has no class (ContentFnOp::getStructure).
LogicalResult checkContents(AttentionOp attention);

/// The factors on the weights of an attention; null if absent.
struct AttentionFactors {
  FactorFnOp perPair;   ///< evaluated for every weight
  FactorFnOp perOutput; ///< multiplies the output of a row
};
/// Returns the factors of an attention. Fails with an error before pe-expand-functions, which
/// leaves one, and pe-classify-functions, which separates two.
FailureOr<AttentionFactors> factorsOf(AttentionOp attention);

/// Returns true if a term that depends only on the query position leaves the result of `attention`
/// unchanged: adding a constant to a row does not change its softmax (unless there is a sink, which
/// is not shifted), but does change the denominator.
bool ignoresRowTerms(AttentionOp attention);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_STRUCTURE_H
