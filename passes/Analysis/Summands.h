//===- Summands.h - biases as sums, coordinates as ratios -------*- C++ -*-===//
//
// The class of a sum is that of its most expensive summand, so a bias is split into summands first:
//
//   amp[h] * (2 * i - 2 * j) + table[h, i - j] - mlp(log(i - j) / log(i))
//
// is amp[h] * (affine 2, -2), plus a function of the distance, minus segments. Factors that do not
// depend on i and j are stored separately, and summands that are affine in i and j with the same
// factors are added: s * i - s * j is s * (i - j).
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_SUMMANDS_H
#define PE_PASSES_ANALYSIS_SUMMANDS_H

#include "passes/Analysis/Structure.h"

namespace mlir::pe {

/// sign * product(factors) / product(divisors) * core. The core is the affine form `form` if that
/// is set (it then includes the sign), otherwise `root`.
struct Summand {
  bool negative = false;
  SmallVector<Value, 2> factors, divisors; ///< independent of i and j
  Value root;
  std::optional<AffineForm> form;
  Value place; ///< the summand with its factors, as the user wrote it, for messages
  TermClass cls = TermClass::General;
  std::string reason; ///< the reason for the class, in words
  /// True for a summand of class row that does not depend on i, so that it has one value per head.
  bool isScalar = false;
  bool dependsOnBatch = false;
};

/// Returns the classified summands of `sum` without zeros. Splitting stops at 64 (kMaxSummands);
/// the remainder is one summand.
SmallVector<Summand> splitSum(Value sum, const RegionDependence &dependence);

/// A summand and the bias it comes from.
struct SourcedSummand {
  BiasFnOp source;
  Summand summand;
};

/// A coordinate as u / r or u * r, where u is a function of h and i - j, and r is a function of h
/// and i. Each is a quotient of products of values.
struct Ratio {
  SmallVector<Value, 2> factorNumerators, factorDivisors; ///< u
  SmallVector<Value, 2> rowNumerators, rowDivisors;       ///< r
  bool negative = false;
};

/// Returns std::nullopt if the coordinate does not have this form.
std::optional<Ratio> splitRatio(Value coordinate, const RegionDependence &dependence);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_SUMMANDS_H
