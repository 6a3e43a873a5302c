//===- Segments.cpp - Pieces of a chain of maps of one variable -----------===//
#include "runtime/device/cpu/Segments.h"

#include "runtime/device/library/Refine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace pe::cpu {
namespace {

/// Knots closer than this, relative to the larger end of the interval, differ only by rounding.
/// Merging them causes an error of at most their distance times the change of slope.
constexpr double kMergeDistance = 4e-15;

using segments::Function;
using segments::Link;

/// The platform of Refine.h with one thread and the functions of the C++ library.
struct HostPlatform {
  int64_t thread() const { return 0; }
  int64_t threads() const { return 1; }
  void barrier() const {}
  double erf(double x) const { return std::erf(x); }
  double exp(double x) const { return std::exp(x); }
  double tanh(double x) const { return std::tanh(x); }
  double sin(double x) const { return std::sin(x); }
  double cos(double x) const { return std::cos(x); }
};

/// Knots, and the values of all units of a layer at each knot.
struct Sweep {
  std::vector<double> knots;
  std::vector<double> values; // [knots][width]
  int64_t width = 1;

  const double *at(size_t knot) const { return values.data() + knot * width; }
  double *at(size_t knot) { return values.data() + knot * width; }
};

/// Applies the affine part of a layer at every knot.
Sweep applyAffine(const Sweep &in, const Link &layer) {
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

/// Finds the roots of all units in the cell [knot, knot + 1], in ascending order.
void findRoots(const Sweep &z, size_t cell, std::vector<Root> &roots) {
  roots.clear();
  double left = z.knots[cell], width = z.knots[cell + 1] - left;
  for (int64_t unit = 0; unit < z.width; ++unit) {
    double a = z.at(cell)[unit], b = z.at(cell + 1)[unit];
    if (!((a < 0 && b > 0) || (a > 0 && b < 0)))
      continue;
    double share = a / (a - b);
    if (share > 0 && share < 1) // false for infinite values
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

/// Adds a knot to `z` at every root, except at roots within `merge` of another knot.
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

/// Returns true if the shapes of the links match each other and the heads of the tables.
bool linksFit(std::span<const Link> links, int64_t heads) {
  int64_t inputs = 1;
  for (const Link &layer : links) {
    if (layer.inputs != inputs || layer.outputs < 1)
      return false;
    inputs = layer.outputs;
  }
  return !links.empty() && (inputs == 1 || inputs == heads);
}

/// Writes slope and offset of every piece in f32. The offset is computed from the rounded slope at
/// the end of the piece nearest zero, so that the error of the slope grows from there and not from
/// zero.
void writeLines(const Segments &segments, const PeFindSegments &call) {
  for (int64_t head = 0; head < call.heads; ++head) {
    int64_t output = segments.outputs == 1 ? 0 : head;
    for (int64_t k = 0; k < segments.count(); ++k) {
      float slope = static_cast<float>(segments.slope(k, output));
      bool left = std::abs(segments.knots[k]) <= std::abs(segments.knots[k + 1]);
      int64_t knot = left ? k : k + 1;
      double offset = segments.value(knot, output) - slope * segments.knots[knot];
      float *to = call.coefficients + (head * call.capacity + k) * 2;
      to[0] = static_cast<float>(offset);
      to[1] = slope;
    }
  }
}

using Refiner = segments::Refiner<HostPlatform>;

/// Writes the values of the chain at the centers of the pieces.
void writeConstants(Refiner &chain, const Segments &segments, const PeFindSegments &call) {
  for (int64_t k = 0; k < segments.count(); ++k) {
    const double left = segments.knots[k];
    chain.evaluate(left + (segments.knots[k + 1] - left) / 2);
    for (int64_t head = 0; head < call.heads; ++head)
      call.coefficients[head * call.capacity + k] =
          static_cast<float>(chain.at(chain.outputOf(head)).value);
  }
}

/// Writes a table of one piece with all coefficients equal to `value`, and sets its count.
void writeOnePiece(const PeFindSegments &call, float value, int32_t count) {
  *call.count = count;
  if (call.capacity < 1)
    return;
  call.knots[0] = 0;
  call.knots[1] = 1;
  for (int64_t head = 0; head < call.heads; ++head)
    std::fill_n(call.coefficients + head * call.capacity * (call.degree + 1), call.degree + 1,
                value);
}

/// Allocates the scratch memory of Refine.h for one thread.
std::vector<double> scratchOf(std::span<const Link> links, const PeFindSegments &call) {
  int64_t width = 1;
  for (const Link &link : links)
    width = std::max(width, link.outputs);
  return std::vector<double>(segments::refineScratch(1, width, call.capacity + 1));
}

/// Extends `interval` to contain the finite elements of `values`.
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

Segments findSegments(std::span<const Link> links, double low, double high) {
  double merge = kMergeDistance * std::max(std::abs(low), std::abs(high));
  Sweep h;
  h.knots = {low, high};
  h.values = {low, high};
  for (const Link &link : links) {
    const auto function = static_cast<Function>(link.function);
    const bool isKinked = function == Function::Relu || function == Function::Step;
    if (!isKinked && function != Function::Identity)
      break;
    h = applyAffine(h, link);
    if (!isKinked)
      continue;
    h = insertRoots(h, merge);
    for (double &value : h.values)
      value = value < 0 ? 0 : value; // keeps a NaN
    if (function == Function::Step)
      break;
  }
  return {std::move(h.knots), std::move(h.values), h.width};
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
  using namespace pe::cpu;
  std::span links(reinterpret_cast<const pe::segments::Link *>(call + 1),
                  static_cast<size_t>(call->linkCount));
  if (!linksFit(links, call->heads) || call->capacity < 1)
    return writeOnePiece(*call, std::numeric_limits<float>::quiet_NaN(), 1);
  auto [low, high] = rangeOfProducts(*call);
  // The interval is a single point; extend it to the right.
  if (!(low < high))
    high = low + std::max(1.0, std::abs(low)) / 1024;
  Segments segments = findSegments(links, low, high);
  if (segments.count() > call->capacity)
    return writeOnePiece(*call, 0, 0);
  std::vector<double> scratch = scratchOf(links, *call);
  Refiner refiner({}, links.data(), call->linkCount, call->heads, call->capacity, call->tolerance,
                  scratch.data());
  if (call->degree > 1) {
    if (!refiner.run(segments.knots.data(), segments.count()))
      return writeOnePiece(*call, 0, 0);
    *call->count = static_cast<int32_t>(refiner.count());
    return refiner.writeCubics(call->knots, call->coefficients);
  }
  *call->count = static_cast<int32_t>(segments.count());
  std::transform(segments.knots.begin(), segments.knots.end(), call->knots,
                 [](double knot) { return static_cast<float>(knot); });
  if (call->degree == 1)
    return writeLines(segments, *call);
  writeConstants(refiner, segments, *call);
}
