//===- ScalarRules.h - Values and derivatives of scalar operations -*- C++ -*-===//
//
// One row per operation on real numbers that a bias may use: its value in float64 and its
// derivative (integers: IntegerRules.h). The `arith` and `math` operations of user regions and the
// formulas of the pe operations share these rows, so every derivative and every tie rule of the
// reference is written in one file.
//
// Tie rules (docs/numerics.md): abs'(0) = 0; a maximum or minimum of equal arguments gives half of
// the gradient to each; a clamp passes the gradient at its bounds; a power, a square root and a
// cube root at 0 give no gradient, nor does the exponent of a base below 0.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_SCALARRULES_H
#define PE_RUNTIME_REFERENCE_SCALARRULES_H

#include <cstdint>
#include <string_view>

namespace pe::reference {

/// y = value(x); derivative(x, y) = dy/dx, or null where the derivative is zero everywhere.
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

/// y = value(a, b); derivative(a, b, y) = (dy/da, dy/db), or null where both are zero everywhere.
struct BinaryRule {
  std::string_view name;
  double (*value)(double a, double b);
  Partials (*derivative)(double a, double b, double y);
};

/// The row of an operation such as "math.exp" or "arith.addf"; null when there is none.
const UnaryRule *findUnaryRule(std::string_view name);
const BinaryRule *findBinaryRule(std::string_view name);

/// The comparison of `arith.cmpf`: found by keyword ("olt") or by the number MLIR gives the
/// predicate. Values are 1 (true) and 0 (false). Null when there is none.
const BinaryRule *findFloatComparison(std::string_view keyword);
const BinaryRule *findFloatComparison(int64_t number);

/// The rules of the pe operations that differ from arith and math.
extern const UnaryRule clampToUnitRule;    ///< clamp(x, 0, 1), gradient at both bounds
extern const BinaryRule positivePowerRule; ///< x^e for x > 0; else 0 without gradient

/// m_h of global head a of b heads: 2^(-8(h+1)/H) for every H, and the published interleaving,
/// which for H not a power of two takes the slopes of the next smaller power of two, then every
/// other slope of the next larger one.
extern const BinaryRule geometricSlopeRule;
extern const BinaryRule interleavedSlopeRule;

/// Activations of pe.mlp: "identity", "relu" (relu'(0) = 0), "gelu" (exact, by erf), "tanh",
/// "silu", "cos", "step" (1 where x > 0, with the derivative 0).
const UnaryRule *findActivation(std::string_view name);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_SCALARRULES_H
