//===- Segments.cpp - the node-value sweep over a ReLU network ------------===//
#include "runtime/device/cpu/Segments.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace pe::cpu {
namespace {

/// Knots closer than this, relative to the interval's larger end, differ only by rounding. Merging
/// them costs at most their distance times the change of slope.
constexpr double kMergeDistance = 4e-15;

/// Knots and, for each, the values of all units of a layer.
struct Sweep {
  std::vector<double> knots;
  std::vector<double> values; // [knots][width]
  int64_t width = 1;

  const double *at(size_t knot) const { return values.data() + knot * width; }
  double *at(size_t knot) { return values.data() + knot * width; }
};

/// The layer's affine part at every knot.
Sweep applyAffine(const Sweep &in, const PeSegmentsLayer &layer) {
  Sweep out;
  out.knots = in.knots;
  out.width = layer.outputs;
  out.values.resize(in.knots.size() * layer.outputs);
  for (size_t knot = 0; knot < in.knots.size(); ++knot)
    for (int64_t o = 0; o < layer.outputs; ++o) {
      double sum = layer.bias[o];
      for (int64_t i = 0; i < layer.inputs; ++i)
        sum += static_cast<double>(layer.weight[o * layer.inputs + i]) * in.at(knot)[i];
      out.at(knot)[o] = sum;
    }
  return out;
}

/// A root of one unit inside a cell of the sweep.
struct Root {
  double knot;
  int64_t unit;
  double share; // of the cell, from its left end
};

/// Every unit's root in the cell [knot, knot + 1], ascending.
void findRoots(const Sweep &z, size_t cell, std::vector<Root> &roots) {
  roots.clear();
  double left = z.knots[cell], width = z.knots[cell + 1] - left;
  for (int64_t unit = 0; unit < z.width; ++unit) {
    double a = z.at(cell)[unit], b = z.at(cell + 1)[unit];
    if (!((a < 0 && b > 0) || (a > 0 && b < 0)))
      continue;
    double share = a / (a - b);
    if (share > 0 && share < 1) // not so for infinite values
      roots.push_back({left + width * share, unit, share});
  }
  std::sort(roots.begin(), roots.end(), [](const Root &x, const Root &y) {
    return std::pair(x.knot, x.unit) < std::pair(y.knot, y.unit);
  });
}

void append(Sweep &sweep, double knot, const double *values) {
  sweep.knots.push_back(knot);
  sweep.values.insert(sweep.values.end(), values, values + sweep.width);
}

/// `z` with every root as an additional knot, except those within `merge` of another knot.
Sweep insertRoots(const Sweep &z, double merge) {
  Sweep out;
  out.width = z.width;
  std::vector<Root> roots;
  std::vector<double> values(z.width);
  for (size_t cell = 0; cell + 1 < z.knots.size(); ++cell) {
    append(out, z.knots[cell], z.at(cell));
    findRoots(z, cell, roots);
    for (const Root &root : roots) {
      if (root.knot - out.knots.back() <= merge || z.knots[cell + 1] - root.knot <= merge)
        continue;
      const double *a = z.at(cell), *b = z.at(cell + 1);
      for (int64_t i = 0; i < z.width; ++i)
        values[i] = a[i] + (b[i] - a[i]) * root.share;
      values[root.unit] = 0;
      append(out, root.knot, values.data());
    }
  }
  append(out, z.knots.back(), z.at(z.knots.size() - 1));
  return out;
}

/// Whether the shapes of the layers match each other and the heads of the tables.
bool layersFit(std::span<const PeSegmentsLayer> layers, int64_t heads) {
  int64_t inputs = 1;
  for (const PeSegmentsLayer &layer : layers) {
    if (layer.inputs != inputs || layer.outputs < 1)
      return false;
    inputs = layer.outputs;
  }
  return !layers.empty() && (inputs == 1 || inputs == heads);
}

/// Rounds to f32. The offset is that of the rounded slope through the knot nearest zero, so that a
/// slope's rounding error grows from there instead of from zero.
void writeTables(const Segments &segments, const PeFindSegments &call) {
  int64_t count = segments.count();
  *call.count = static_cast<int32_t>(count);
  for (int64_t k = 1; k < count; ++k)
    call.knots[k - 1] = static_cast<float>(segments.knots[k]);
  for (int64_t head = 0; head < call.heads; ++head) {
    int64_t output = segments.outputs == 1 ? 0 : head;
    for (int64_t k = 0; k < count; ++k) {
      float slope = static_cast<float>(segments.slope(k, output));
      bool left = std::abs(segments.knots[k]) <= std::abs(segments.knots[k + 1]);
      int64_t knot = left ? k : k + 1;
      double offset = segments.value(knot, output) - slope * segments.knots[knot];
      call.slope[head * call.capacity + k] = slope;
      call.offset[head * call.capacity + k] = static_cast<float>(offset);
    }
  }
}

void writeFailure(const PeFindSegments &call) {
  *call.count = 1;
  if (call.capacity < 1)
    return;
  for (int64_t head = 0; head < call.heads; ++head)
    call.slope[head * call.capacity] = call.offset[head * call.capacity] =
        std::numeric_limits<float>::quiet_NaN();
}

/// Widens `interval` to the finite numbers of `values`.
void include(Interval &interval, const float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (std::isfinite(values[i])) {
      interval.low = std::min<double>(interval.low, values[i]);
      interval.high = std::max<double>(interval.high, values[i]);
    }
}

} // namespace

double Segments::slope(int64_t segment, int64_t output) const {
  return (value(segment + 1, output) - value(segment, output)) /
         (knots[segment + 1] - knots[segment]);
}

Segments findSegments(std::span<const PeSegmentsLayer> layers, double low, double high) {
  double merge = kMergeDistance * std::max(std::abs(low), std::abs(high));
  Sweep h;
  h.knots = {low, high};
  h.values = {low, high};
  for (const PeSegmentsLayer &layer : layers.first(layers.size() - 1)) {
    h = insertRoots(applyAffine(h, layer), merge);
    for (double &value : h.values)
      value = value < 0 ? 0 : value; // keeps a NaN
  }
  Sweep f = applyAffine(h, layers.back());
  return {std::move(f.knots), std::move(f.values), f.width};
}

Interval rangeOfProducts(const PeFindSegments &call) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Interval u = {kInfinity, -kInfinity}, v = u;
  for (int64_t row = 0; row < call.uRows; ++row)
    include(u, call.u + row * call.uStride, call.uCount);
  include(v, call.v, call.vCount);
  if (u.low > u.high || v.low > v.high)
    return {0, 0};
  auto [low, high] = std::minmax({u.low * v.low, u.low * v.high, u.high * v.low, u.high * v.high});
  return {low, high};
}

} // namespace pe::cpu

void pe_find_segments(const PeFindSegments *call) {
  std::span layers(reinterpret_cast<const PeSegmentsLayer *>(call + 1),
                   static_cast<size_t>(call->layerCount));
  if (!pe::cpu::layersFit(layers, call->heads))
    return pe::cpu::writeFailure(*call);
  auto [low, high] = pe::cpu::rangeOfProducts(*call);
  // A single point: the piece to its right.
  if (!(low < high))
    high = low + std::max(1.0, std::abs(low)) / 1024;
  pe::cpu::Segments segments = pe::cpu::findSegments(layers, low, high);
  if (segments.count() > call->capacity)
    return pe::cpu::writeFailure(*call);
  pe::cpu::writeTables(segments, *call);
}
