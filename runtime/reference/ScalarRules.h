//===- ScalarRules.h - Values and derivatives of scalar operations -*- C++ -*-===//
//
// The operations on real numbers that a bias may use, one row per operation: its value in float64
// and its derivative (integers: IntegerRules.h). The `arith` and `math` operations of user regions
// and the formulas of the pe operations share these rows, so that every derivative and tie rule of
// the reference is in one file.
//
// Tie rules (docs/numerics.md): abs'(0) = 0. A maximum or minimum of equal arguments gives half of
// the gradient to each. A clamp passes the gradient at its bounds. A power, a square root and a
// cube root have no gradient at 0, and neither has the exponent of a base below 0.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_SCALARRULES_H
#define PE_RUNTIME_REFERENCE_SCALARRULES_H

#include <cstdint>
#include <string_view>

namespace pe::reference {

/// y = value(x); derivative(x, y) = dy/dx, or null if the derivative is zero everywhere.
struct UnaryRule {
  std::string_view name;
  double (*value)(double x);
  double (*derivative)(double x, double y);
};

/// The partial derivatives of a binary operation.
struct Partials {
  double left = 0.0;
  double right = 0.0;
};

/// y = value(a, b); derivative(a, b, y) = (dy/da, dy/db), or null if both are zero everywhere.
struct BinaryRule {
  std::string_view name;
  double (*value)(double a, double b);
  Partials (*derivative)(double a, double b, double y);
};

/// Returns the row of an operation such as "math.exp" or "arith.addf", or null.
const UnaryRule *findUnaryRule(std::string_view name);
const BinaryRule *findBinaryRule(std::string_view name);

/// Returns the comparison of `arith.cmpf` with a keyword ("olt") or MLIR's number of a predicate,
/// or null. Values are 1 (true) and 0 (false).
const BinaryRule *findFloatComparison(std::string_view keyword);
const BinaryRule *findFloatComparison(int64_t number);

/// The rules of the pe operations that differ from arith and math.
extern const UnaryRule clampToUnitRule;    ///< clamp(x, 0, 1), gradient at both bounds
extern const BinaryRule positivePowerRule; ///< x^e for x > 0, otherwise 0 without gradient

/// Slopes m_h of head a of b heads: 2^(-8(h+1)/H) for any H, and the published interleaving, which
/// for an H that is not a power of two uses the slopes of the next smaller power of two, then every
/// other slope of the next larger one.
extern const BinaryRule geometricSlopeRule;
extern const BinaryRule interleavedSlopeRule;

/// Returns an activation of pe.mlp (runtime/plan/Activations.h): relu'(0) = 0, "gelu" is exact,
/// with erf, and "step" is 1 for x > 0, with derivative 0. Null for other names.
const UnaryRule *findActivation(std::string_view name);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_SCALARRULES_H
