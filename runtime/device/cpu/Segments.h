//===- Segments.h - the pieces of a chain of maps of one variable --------===//
//
// A chain of affine maps with relu between them, f: R -> R^heads, is piecewise linear, with kinks
// where the input of a relu is zero. On [low, high] they are found link by link, from values at the
// knots found so far:
//
//   knots = {low, high}, h = knots
//   per link:  z = W h + b at every knot. Between two knots z is affine, so an output whose values
//              have opposite signs there has exactly one root between them. It becomes a knot;
//              all outputs get their values at it by interpolation, that one exactly 0. Knots that
//              rounding cannot separate are merged; h = max(z, 0).
//
// No slope is propagated from link to link, so nothing cancels: interpolating the values
// reproduces the chain to about 2e-15 relative to its largest value, for any weights
// (docs/numerics.md). How many pieces to expect: Hanin and Rolnick 2019, arXiv 1901.09021; never
// more than (n1 + 1)(n2 + 1)... for widths n1, n2, ... With steps in place of relu the pieces are
// constant; with smooth functions they are cubics, within a tolerance (../library/Refine.h).
//
// Compiled code reaches this through the C symbol `pe_find_segments` (tile.find_segments).
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
#define PE_RUNTIME_DEVICE_CPU_SEGMENTS_H

#include "runtime/device/library/Refine.h"

#include <cstdint>
#include <span>
#include <vector>

extern "C" {

/// The argument block of `pe_find_segments`; `linkCount` links (pe::segments::Link) follow it in
/// memory. Compiled code writes it as 64-bit words in this order.
struct PeFindSegments {
  /// u[uRows][uStride], of which the first uCount entries of each row are used, and v[vCount]: the
  /// chain's argument is the product of an entry of u and one of v.
  const float *u;
  int64_t uRows, uStride, uCount;
  const float *v;
  int64_t vCount;
  /// Written: knots[capacity + 1], coefficients[heads][capacity][degree + 1], count[1].
  float *knots, *coefficients;
  int32_t *count;
  int64_t heads, capacity, degree;
  double tolerance;
  int64_t linkCount;
};

/// Fills the tables: `count` pieces, with their ends and polynomials as tile.segments reads them. A
/// chain with one output serves all heads. Where the tables are too small there are no pieces. When
/// the links' shapes do not match there is one piece of NaN, which shows in every result, and
/// nothing is accessed out of bounds.
void pe_find_segments(const PeFindSegments *call);

} // extern "C"

namespace pe::cpu {

/// Values of a chain of relus at its knots, including the ends of the interval.
struct Segments {
  std::vector<double> knots;  // [n], ascending
  std::vector<double> values; // [n][outputs]
  int64_t outputs = 0;

  int64_t count() const { return static_cast<int64_t>(knots.size()) - 1; }
  double value(int64_t knot, int64_t output) const { return values[knot * outputs + output]; }
  double slope(int64_t segment, int64_t output) const;
};

/// The kinks on [low, high], low < high and both finite, of the links up to the first smooth one,
/// or the first that makes all constant, and the values there of what has been applied. The first
/// link has one input, and each link as many inputs as the one before has outputs.
Segments findSegments(std::span<const segments::Link> links, double low, double high);

/// The smallest interval with every product of a finite entry of u and one of v.
struct Interval {
  double low, high;
};
Interval rangeOfProducts(const PeFindSegments &call);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
