//===- Dependence.h - dependence of a scalar on the pair (i, j) -*- C++ -*-===//
//
// A forward walk over a bias region computes, for every value, which of batch b, head h, query
// position i, key position j and difference i - j it depends on. Index arithmetic is tracked as an
// affine form of i and j, also through conversions to float: this turns a dependence on i and on j
// into a dependence on i - j.
//
//   %d = arith.subi %i, %j      // affine 1 i - 1 j + 0   {i - j}
//   %x = arith.sitofp %d        // the same
//   %u = math.log %x            // {i - j}
//   %w = arith.divf %u, %s      // {h, i - j} for %s = pe.read %slope[%h]
//   %y = arith.addf %w, %fi     // {h, i, i - j}, where %fi is i as a float
//
// A value over {h, i - j} has the same result at every pair with the same difference, so it can be
// evaluated at (i, j) = (max(t, 0), max(-t, 0)) for i - j = t (`distancePoint`).
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_DEPENDENCE_H
#define PE_PASSES_ANALYSIS_DEPENDENCE_H

#include "dialect/PE/PE.h"
#include <optional>

namespace mlir::pe {

/// query * i + key * j + constant, with constant coefficients.
struct AffineForm {
  double query = 0, key = 0, constant = 0;

  bool isConstant() const { return query == 0 && key == 0; }
  bool isDifference() const { return query == -key && query != 0; }
};

/// The inputs that a scalar depends on.
class Dependence {
public:
  enum Source : unsigned { Batch = 1, Head = 2, Query = 4, Key = 8, Difference = 16 };

  Dependence() = default;
  explicit Dependence(unsigned sources) : sources(sources) {}
  explicit Dependence(const AffineForm &form);

  /// Returns true if the value depends only on inputs in `allowed`.
  bool isWithin(unsigned allowed) const { return (sources & ~allowed) == 0; }
  bool has(Source source) const { return sources & source; }
  /// Returns true if the value is the same for every pair of a head.
  bool isScalar() const { return isWithin(Batch | Head); }
  void join(const Dependence &other) { sources |= other.sources; }

  /// Returns the affine form of i and j, if the value has one.
  const std::optional<AffineForm> &affine() const { return form; }
  /// Returns a description such as "head and i - j".
  std::string describe() const;

private:
  unsigned sources = 0;
  std::optional<AffineForm> form;
};

/// The dependences of all values of one region.
class RegionDependence {
public:
  /// `range` contains the relevant differences i - j (those of a mask). If it has only i >= j,
  /// |i - j| is i - j. Values at differences outside the range are arbitrary.
  explicit RegionDependence(Region &region, DifferenceRange range = {});

  const Dependence &of(Value value) const { return values.find(value)->second; }

private:
  Dependence transfer(Operation *op) const;
  std::optional<AffineForm> affineOf(Operation *op) const;
  std::optional<AffineForm> affineOf(Value value) const { return of(value).affine(); }
  std::optional<AffineForm> comparedDifference(Operation *op) const;
  bool isNonNegative(const AffineForm &form) const;

  DifferenceRange range;
  llvm::DenseMap<Value, Dependence> values;
};

/// Returns the pair with i - j = `difference` (an index, possibly negative) whose positions are
/// nonnegative.
PairPoint distancePoint(OpBuilder &builder, Location loc, Value batch, Value head,
                        Value difference);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_DEPENDENCE_H
