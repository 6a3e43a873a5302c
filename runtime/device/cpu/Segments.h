//===- Segments.h - Pieces of a chain of maps of one variable -------------===//
//
// A chain of affine maps with relu between them, f: R -> R^heads, is piecewise linear, with kinks
// at the zeros of the inputs of the relus. The kinks on [low, high] are found link by link, from
// the values at the knots of the previous links:
//
//   knots = {low, high}, h = knots
//   per link:  z = W h + b at every knot. Between two knots z is affine, so an output whose values
//              have opposite signs there has exactly one root between them. It becomes a knot;
//              all outputs get their values at it by interpolation, that one exactly 0. Knots that
//              rounding cannot separate are merged; h = max(z, 0).
//
// No slope is propagated from link to link, so there is no cancellation: interpolating the values
// reproduces the chain to about 2e-15 relative to its largest value, for any weights
// (docs/numerics.md). The number of pieces is at most (n1 + 1)(n2 + 1)... for widths n1, n2, ...;
// Hanin and Rolnick 2019, arXiv 1901.09021, give the expected number. With step functions instead
// of relu the pieces are constant; smooth functions are approximated by cubics within a tolerance
// (../library/Refine.h).
//
// Compiled code calls the C symbol `pe_find_segments` (tile.find_segments).
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
#define PE_RUNTIME_DEVICE_CPU_SEGMENTS_H

#include "runtime/device/library/SegmentsCall.h"

#include <cstdint>
#include <span>
#include <vector>

extern "C" {

/// Fills the tables with `count` pieces, their ends and their polynomials in the format that
/// tile.segments reads. A chain with one output applies to all heads. If the tables are too small,
/// `count` is 0. If the shapes of the links do not match, nothing is accessed out of bounds and
/// there is one piece of NaN, which makes every result NaN.
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

/// Returns the kinks on [low, high], with finite low < high, of the links before the first smooth
/// function or up to the first step function, and the values of these links at the kinks. The
/// first link must have one input, every other link as many inputs as the previous has outputs.
Segments findSegments(std::span<const segments::Link> links, double low, double high);

struct Interval {
  double low, high;
};
/// Returns the smallest interval that contains every product of finite entries of u and v.
Interval rangeOfProducts(const PeFindSegments &call);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
