//===- Segments.h - the linear pieces of a ReLU network of one variable ---===//
//
// A ReLU network f: R -> R^heads is piecewise linear, with kinks where a unit's input is zero. On
// [low, high] they are found layer by layer, from values at the knots found so far:
//
//   knots = {low, high}, h = knots
//   per hidden layer:  z = W h + b at every knot. Between two knots z is affine, so a unit whose
//                      values have opposite signs there has exactly one root between them. It
//                      becomes a knot; all units get their values at it by interpolation, that unit
//                      exactly 0. Knots that rounding cannot separate are merged; h = max(z, 0).
//   f = W h + b at every knot.
//
// No slope is propagated from layer to layer, so nothing cancels: interpolating the values
// reproduces the network to about 2e-15 relative to its largest value, for any weights
// (docs/numerics.md). How many pieces to expect: Hanin and Rolnick 2019, arXiv 1901.09021; never
// more than (n1 + 1)(n2 + 1)... for widths n1, n2, ...
//
// Compiled code reaches this through the C symbol `pe_find_segments` (tile.find_segments).
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
#define PE_RUNTIME_DEVICE_CPU_SEGMENTS_H

#include <cstdint>
#include <span>
#include <vector>

extern "C" {

/// One affine layer: weight [outputs, inputs], bias [outputs], row-major.
struct PeSegmentsLayer {
  const float *weight;
  const float *bias;
  int64_t outputs;
  int64_t inputs;
};

/// The argument block of `pe_find_segments`; `layerCount` PeSegmentsLayer follow it in memory.
/// Compiled code writes it as 64-bit words in this order.
struct PeFindSegments {
  /// u[uRows][uStride], of which the first uCount entries of each row are used, and v[vCount]: the
  /// network's argument is the product of an entry of u and one of v.
  const float *u;
  int64_t uRows, uStride, uCount;
  const float *v;
  int64_t vCount;
  /// Written: knots[capacity - 1], slope and offset [heads][capacity], count[1].
  float *knots, *slope, *offset;
  int32_t *count;
  int64_t heads, capacity;
  int64_t layerCount;
};

/// Fills the tables: on segment k, f = slope[k] * t + offset[k]; count is the number of segments. A
/// network with one output serves all heads. When the tables are too small, or the layers' shapes
/// do not match, there is one segment of NaN, which shows in every result, and nothing is accessed
/// out of bounds.
void pe_find_segments(const PeFindSegments *call);

} // extern "C"

namespace pe::cpu {

/// Values of the network at its knots, including the ends of the interval.
struct Segments {
  std::vector<double> knots;  // [n], ascending
  std::vector<double> values; // [n][outputs]
  int64_t outputs = 0;

  int64_t count() const { return static_cast<int64_t>(knots.size()) - 1; }
  double value(int64_t knot, int64_t output) const { return values[knot * outputs + output]; }
  double slope(int64_t segment, int64_t output) const;
};

/// All segments on [low, high], low < high and both finite. The first layer has one input, and each
/// layer as many inputs as the one before has outputs.
Segments findSegments(std::span<const PeSegmentsLayer> layers, double low, double high);

/// The smallest interval with every product of a finite entry of u and one of v.
struct Interval {
  double low, high;
};
Interval rangeOfProducts(const PeFindSegments &call);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
