//===- Dependence.h - How a scalar depends on the pair (i, j) ----*- C++ -*-===//
//
// A forward walk over a bias region finds, for every value, which of batch b, head h, query
// position i, key position j and difference i - j it is a function of. Index arithmetic is tracked
// as an affine form of i and j, through conversions to float too: that is how a dependence on i and
// on j becomes a dependence on i - j alone.
//
//   %d = arith.subi %i, %j      // affine 1 i - 1 j + 0   {i - j}
//   %x = arith.sitofp %d        // the same
//   %u = math.log %x            // {i - j}
//   %w = arith.divf %u, %s      // {h, i - j} for %s = pe.read %slope[%h]
//   %y = arith.addf %w, %fi     // {h, i, i - j} for %fi the float of i
//
// A value over {h, i - j} has the same result at every pair with the same difference, so it may be
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

/// What a scalar is a function of.
class Dependence {
public:
  enum Source : unsigned { Batch = 1, Head = 2, Query = 4, Key = 8, Difference = 16 };

  Dependence() = default;
  explicit Dependence(unsigned sources) : sources(sources) {}
  explicit Dependence(const AffineForm &form);

  /// True if the value is a function of no more than `allowed`.
  bool isWithin(unsigned allowed) const { return (sources & ~allowed) == 0; }
  bool has(Source source) const { return sources & source; }
  /// Whether it is the same for every pair of a head.
  bool isScalar() const { return isWithin(Batch | Head); }
  void join(const Dependence &other) { sources |= other.sources; }

  /// Set when the value is an affine form of i and j.
  const std::optional<AffineForm> &affine() const { return form; }
  /// In words: "head and i - j".
  std::string describe() const;

private:
  unsigned sources = 0;
  std::optional<AffineForm> form;
};

/// The dependences of all values of one region.
class RegionDependence {
public:
  /// `range` holds the differences i - j that matter (a mask's); if only i >= j matters, |i - j| is
  /// i - j itself. Values at differences outside it are arbitrary.
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

/// The pair with i - j = `difference` (an index, possibly negative) whose positions are
/// nonnegative.
PairPoint distancePoint(OpBuilder &builder, Location loc, Value batch, Value head,
                        Value difference);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_DEPENDENCE_H
