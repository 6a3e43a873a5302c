//===- Structure.h - The cheapest exact class of each bias term --*- C++ -*-===//
//
// Cost follows structure: a lowering pays for a term's class, not for how it was written. The
// pipeline brings the biases of an attention into normal form first (pe-split-terms): one
// `pe.bias_fn` per term, each of one class, so that bias operand k is term k.
//
//   class     value                                       forward               backward
//   zero      0                                           nothing               nothing
//   row       f(b, h, i)                                  one add per query     row sums
//   column    f(b, h, j)                                  one add per score     column sums
//   affine    c(b, h) * (i - j), a row plus a column      one add per score     diagonal sums
//   distance  f(h, i - j)                                 a window of a table   diagonal sums
//   segments  s(h) * p_h(u(h, i - j) * r(h, i)) or u / r  table of segments     moments per segment
//             with p_h piecewise linear
//   general   anything else                               its code per score    reverse mode
//
// Worked example, with the region of a progressive interpolation:
//
//   AttentionOp attention = ...;                        // after pe-split-terms
//   FailureOr<BiasStructure> structure = analyzeStructure(attention);
//   for (const Term &term : structure->terms)
//     switch (term.cls) {
//     case TermClass::Affine:
//       // score += emitScalar(term.coefficient) * (i - j)
//     case TermClass::Distance:
//       // table[h, t] = emitScalar(term.root) at distancePoint(t)
//     case TermClass::Segments:
//       // u[h, t] = emitScalar(term.factor) at distancePoint(t); r[h, i] =
//       emitScalar(term.rowFactor)
//       // x = term.divided ? u / r : u * r; score += scale * piecewise(term.piecewise, x)
//       ...
//     }
//
// All values of a term are values of the region of `term.bias`, ready for emitScalar and ScalarVjp.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_STRUCTURE_H
#define PE_PASSES_ANALYSIS_STRUCTURE_H

#include "passes/Analysis/Dependence.h"

namespace mlir::pe {

/// One term of the sum of biases.
struct Term {
  TermClass cls = TermClass::General;
  BiasFnOp bias; ///< the region it is in

  /// The term's value, whatever its class.
  Value root;

  /// affine: the factor c of i - j; depends on b and h only.
  Value coefficient;

  /// segments: the piecewise linear operation, the output scale (null for 1; depends on h only),
  /// the factors u(h, i - j) and r(h, i) of its coordinate.
  PiecewiseOpInterface piecewise; ///< a pe.mlp_eval for which isPiecewiseLinear holds
  Value scale;
  Value factor;
  Value rowFactor;
  bool divided = false; ///< the coordinate is u / r, else u * r
  bool factorDependsOnHead = false;
  bool rowFactorDependsOnHead = false;

  /// What the value is a function of, in words, for `pe explain`.
  std::string reason;
};

struct BiasStructure {
  SmallVector<Term> terms; ///< in the order of the attention's bias operands
};

/// The class of one bias region, taken as one term. `range` as for RegionDependence.
Term analyzeTerm(BiasFnOp bias, DifferenceRange range = {});

/// The terms of an attention, one per bias operand. Fails with an error if a bias is not a
/// `pe.bias_fn` (pe-expand-biases makes them so).
FailureOr<BiasStructure> analyzeStructure(AttentionOp attention);

/// True if `op` is, exactly, a ReLU network with a linear output layer (or nothing but that layer):
/// piecewise linear with breakpoints that all heads share, what the class segments needs. Another
/// final activation would add breakpoints of each head.
bool isPiecewiseLinear(PiecewiseOpInterface op);

/// True if a term that depends on the query position alone leaves the result of `attention` as it
/// is: softmax of a row is unchanged by adding a number to the row, its denominator is not.
bool ignoresRowTerms(AttentionOp attention);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_STRUCTURE_H
