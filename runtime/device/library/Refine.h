//===- Refine.h - Piecewise cubics of a smooth function -------------------===//
//
// Approximates a chain of affine maps and scalar functions, R -> R^heads, by piecewise cubics. All
// heads share the ends of the pieces:
//
//   cells = the initial cells, which end at the kinks of earlier links
//   until every cell is accepted:
//     per cell and head: fit a cubic to the function at the four Chebyshev points of the cell, and
//     compare its value and slope with the function at kChecks points. Accept the cell if all heads
//     are within the tolerance. Otherwise split it: if a function with a kink follows the last map,
//     at a zero of that map inside the cell, else in the middle
//
// Equidistant check points miss the behavior near 0 of a cell that reaches to 1e6 (the normalizer
// of a row without keys may produce such a cell). With weights and biases near 1, a function at x
// changes over a length of about x, so a cell that spans more than that is split without a check.
//
// Values and slopes are computed in float64, by the chain rule. The work of a round is distributed
// over threads by (cell, point) and by (cell, head); results do not depend on the number of
// threads. The code is freestanding: it runs on the host (one thread) and in a CTA.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_LIBRARY_REFINE_H
#define PE_RUNTIME_DEVICE_LIBRARY_REFINE_H

#include "SegmentsCall.h"

namespace pe::segments {

/// A value and its derivative with respect to the argument of the chain.
struct Dual {
  double value, slope;
};

inline constexpr int64_t kDegree = 3;
inline constexpr int64_t kChecks = 12; // points at which a cubic is checked
inline constexpr int64_t kPoints = kDegree + 1 + kChecks;
inline constexpr int64_t kBatch = 32; // cells whose values are in memory at once
inline constexpr int64_t kScalePoints = 64;
inline constexpr int64_t kRounds = 56; // a cell cannot be split more often
/// The far end of an accepted cell has a magnitude of at most this, or at most this times the
/// magnitude of the near end.
inline constexpr double kReach = 4;
/// The largest error of a slope, relative to the largest slope of the head.
inline constexpr double kSlopeTolerance = 2e-4;
/// The relative resolution of an f32 result.
inline constexpr double kResolution = 0x1p-22;

/// Chebyshev points of [-1, 1].
inline constexpr double kNodes[kDegree + 1] = {-0.92387953251128674, -0.38268343236508978,
                                               0.38268343236508978, 0.92387953251128674};

/// Returns the position of a point in a cell, in [-1, 1]: first the nodes, then the checks. The
/// first and the last check are close enough to the ends to measure the error of slopes there, but
/// lie on one side of a kink at the end.
inline double pointAt(int64_t point) {
  if (point <= kDegree)
    return kNodes[point];
  return 0.9995 * (2.0 * static_cast<double>(point - kDegree - 1) / (kChecks - 1) - 1.0);
}

/// Computes the coefficients of the cubic through `values` at the nodes, in powers of x in [-1, 1].
inline void fitNodes(const double *values, double *coefficients) {
  // Even and odd parts at the squares p < q of the nodes.
  const double p = kNodes[2] * kNodes[2], q = kNodes[3] * kNodes[3];
  const double evenInner = (values[2] + values[1]) / 2, evenOuter = (values[3] + values[0]) / 2;
  const double oddInner = (values[2] - values[1]) / (2 * kNodes[2]);
  const double oddOuter = (values[3] - values[0]) / (2 * kNodes[3]);
  coefficients[2] = (evenOuter - evenInner) / (q - p);
  coefficients[0] = evenInner - coefficients[2] * p;
  coefficients[3] = (oddOuter - oddInner) / (q - p);
  coefficients[1] = oddInner - coefficients[3] * p;
}

/// Returns the doubles of scratch of a Refiner for `threads` threads, links of at most `width`
/// outputs and tables of `ends` - 1 pieces. `Number` is an integer, or an expression of a pass.
template <typename Number>
constexpr Number refineScratch(int64_t threads, Number width, Number ends) {
  return (4 * threads + kBatch * kPoints * 2 + kScalePoints + 1) * width + 5 * ends + kBatch;
}

/// Splits cells and fits cubics. `Platform` provides thread(), threads(), barrier(), and erf, exp,
/// tanh, sin and cos of doubles.
template <typename Platform> class Refiner {
public:
  Refiner(const Platform &platform, const Link *links, int64_t linkCount, int64_t heads,
          int64_t capacity, double tolerance, double *scratch)
      : platform(platform), links(links), linkCount(linkCount), heads(heads), capacity(capacity),
        tolerance(tolerance), width(1) {
    for (int64_t i = 0; i < linkCount; ++i)
      width = links[i].outputs > width ? links[i].outputs : width;
    outputs = links[linkCount - 1].outputs;
    auto take = [&](int64_t count) {
      double *at = scratch;
      scratch += count;
      return at;
    };
    rows = take(platform.threads() * 4 * width);
    values = take(kBatch * kPoints * 2 * outputs);
    samples = take(kScalePoints * outputs);
    slopes = take(outputs);
    ends = take(capacity + 1);
    next = take(capacity + 1);
    isOpen = take(capacity + 1);
    wasOpen = take(capacity + 1);
    splits = take(capacity + 1);
    batch = take(kBatch);
  }

  /// Splits the cells between `count` + 1 ascending ends until all are accepted. Returns false if
  /// there are more than `capacity` cells.
  bool run(const double *given, int64_t count);
  /// Writes the ends of the pieces, and the cubics about the f32 center of each piece.
  void writeCubics(float *knots, float *coefficients);
  int64_t count() const { return cells; }
  double end(int64_t index) const { return ends[index]; }
  /// Evaluates the chain at x. `at(output)` then returns the outputs on this thread.
  void evaluate(double x, bool isLastApplied = true);
  Dual at(int64_t output) const { return {current[2 * output], current[2 * output + 1]}; }
  /// Returns the output of a head. A chain with one output applies to all heads.
  int64_t outputOf(int64_t head) const { return outputs == 1 ? 0 : head; }

private:
  Dual apply(Function function, Dual z) const;
  bool hasKink() const {
    const auto last = static_cast<Function>(links[linkCount - 1].function);
    return last == Function::Relu || last == Function::Step;
  }
  void findScales(double low, double high);
  double splitOfWide(double left, double right) const;
  void evaluateBatch(int64_t size);
  bool isClose(int64_t slot, int64_t output) const;
  double splitOf(int64_t slot, int64_t cell);
  double zeroBetween(double a, double b, int64_t output);
  void examine();
  bool divide();
  Dual stored(int64_t slot, int64_t point, int64_t output) const {
    const double *at = values + 2 * ((slot * kPoints + point) * outputs + output);
    return {at[0], at[1]};
  }

  Platform platform;
  const Link *links;
  int64_t linkCount, heads, capacity;
  double tolerance;
  int64_t width, outputs, cells = 0;
  double *rows, *values, *samples, *slopes, *ends, *next, *isOpen, *wasOpen, *splits, *batch;
  double *current = nullptr;
};

template <typename Platform> Dual Refiner<Platform>::apply(Function function, Dual z) const {
  const double x = z.value;
  switch (function) {
  case Function::Identity:
    return z;
  case Function::Relu:
    return x > 0 ? z : x <= 0 ? Dual{0, 0} : z; // keeps a NaN
  case Function::Step:
    return {x > 0 ? 1.0 : x <= 0 ? 0.0 : x, 0};
  case Function::Gelu: {
    const double phi = 0.5 * (1 + platform.erf(x * 0.70710678118654752));
    const double density = 0.39894228040143268 * platform.exp(-0.5 * x * x);
    return {x * phi, (phi + x * density) * z.slope};
  }
  case Function::Tanh: {
    const double y = platform.tanh(x);
    return {y, (1 - y * y) * z.slope};
  }
  case Function::Silu: {
    const double s = 1 / (1 + platform.exp(-x));
    return {x * s, s * (1 + x * (1 - s)) * z.slope};
  }
  case Function::Cos:
    return {platform.cos(x), -platform.sin(x) * z.slope};
  }
  return z;
}

template <typename Platform> void Refiner<Platform>::evaluate(double x, bool isLastApplied) {
  double *in = rows + platform.thread() * 4 * width, *out = in + 2 * width;
  in[0] = x;
  in[1] = 1;
  for (int64_t i = 0; i < linkCount; ++i) {
    const Link &link = links[i];
    const bool isApplied = i + 1 < linkCount || isLastApplied;
    for (int64_t o = 0; o < link.outputs; ++o) {
      Dual sum = {link.bias[o], 0};
      for (int64_t m = 0; m < link.inputs; ++m) {
        const double w = link.weight[o * link.inputs + m];
        sum.value += w * in[2 * m];
        sum.slope += w * in[2 * m + 1];
      }
      const Dual y = isApplied ? apply(static_cast<Function>(link.function), sum) : sum;
      out[2 * o] = y.value;
      out[2 * o + 1] = y.slope;
    }
    double *swap = in;
    in = out;
    out = swap;
  }
  current = in;
}

/// Finds the largest slope of every output at sample points. Every other point is within kReach of
/// 0, if the range contains such points; the others cover the entire range.
template <typename Platform> void Refiner<Platform>::findScales(double low, double high) {
  const bool hasNear = low < kReach && high > -kReach;
  const double nearLow = hasNear && low < -kReach ? -kReach : low;
  const double nearHigh = hasNear && high > kReach ? kReach : high;
  for (int64_t i = platform.thread(); i < kScalePoints; i += platform.threads()) {
    const double share = (static_cast<double>(i) + 0.5) / kScalePoints;
    evaluate(i % 2 ? nearLow + (nearHigh - nearLow) * share : low + (high - low) * share);
    for (int64_t o = 0; o < outputs; ++o) {
      const double slope = at(o).slope;
      samples[i * outputs + o] = slope < 0 ? -slope : slope;
    }
  }
  platform.barrier();
  for (int64_t o = platform.thread(); o < outputs; o += platform.threads()) {
    double largest = 0;
    for (int64_t i = 0; i < kScalePoints; ++i)
      largest = samples[i * outputs + o] > largest ? samples[i * outputs + o] : largest;
    slopes[o] = largest;
  }
  platform.barrier();
}

/// Computes values and slopes at every point of the cells of the batch.
template <typename Platform> void Refiner<Platform>::evaluateBatch(int64_t size) {
  for (int64_t job = platform.thread(); job < size * kPoints; job += platform.threads()) {
    const int64_t slot = job / kPoints, point = job % kPoints;
    const auto cell = static_cast<int64_t>(batch[slot]);
    const double half = (ends[cell + 1] - ends[cell]) / 2, middle = ends[cell] + half;
    evaluate(middle + half * pointAt(point));
    double *to = values + 2 * job * outputs;
    for (int64_t i = 0; i < 2 * outputs; ++i)
      to[i] = current[i];
  }
  platform.barrier();
}

/// Returns true if the cubic of an output is within the tolerance at all points. NaN counts as
/// within the tolerance, because it reaches the results.
template <typename Platform> bool Refiner<Platform>::isClose(int64_t slot, int64_t output) const {
  double nodes[kDegree + 1], c[kDegree + 1];
  for (int64_t i = 0; i <= kDegree; ++i)
    nodes[i] = stored(slot, i, output).value;
  fitNodes(nodes, c);
  const auto cell = static_cast<int64_t>(batch[slot]);
  const double half = (ends[cell + 1] - ends[cell]) / 2;
  auto magnitude = [](double x) { return x < 0 ? -x : x; };
  for (int64_t i = kDegree + 1; i < kPoints; ++i) {
    const Dual exact = stored(slot, i, output);
    const double x = pointAt(i);
    const double value = c[0] + x * (c[1] + x * (c[2] + x * c[3]));
    const double slope = (c[1] + x * (2 * c[2] + x * 3 * c[3])) / half;
    const double resolved = kResolution * magnitude(exact.value);
    if (magnitude(value - exact.value) > (tolerance > resolved ? tolerance : resolved))
      return false;
    if (magnitude(slope - exact.slope) > kSlopeTolerance * slopes[output])
      return false;
  }
  return true;
}

/// Finds a zero of the last map between a and b, where it has opposite signs.
template <typename Platform>
double Refiner<Platform>::zeroBetween(double a, double b, int64_t output) {
  evaluate(a, /*isLastApplied=*/false);
  const bool isPositive = at(output).value > 0;
  for (int64_t i = 0; i < 60; ++i) {
    const double middle = a + (b - a) / 2;
    if (!(middle > a && middle < b))
      break;
    evaluate(middle, /*isLastApplied=*/false);
    (at(output).value > 0) == isPositive ? a = middle : b = middle;
  }
  return a + (b - a) / 2;
}

/// Returns the point at which to split a cell that is too wide to be checked, or its left end if it
/// is not.
template <typename Platform>
double Refiner<Platform>::splitOfWide(double left, double right) const {
  const double far = right > -left ? right : -left;
  if (far <= kReach)
    return left;
  if (left < 0 && right > 0)
    return 0;
  const double near = left > 0 ? left : -right;
  if (far <= kReach * near)
    return left;
  return right > 0 ? right / kReach : left / kReach;
}

/// Returns the point at which to split a cell, or its left end if the cell is accepted.
template <typename Platform> double Refiner<Platform>::splitOf(int64_t slot, int64_t cell) {
  const double left = ends[cell], right = ends[cell + 1], half = (right - left) / 2;
  if (const double wide = splitOfWide(left, right); wide > left)
    return wide;
  bool areAllClose = true;
  for (int64_t o = 0; o < outputs; ++o) {
    const bool isCloseHere = isClose(slot, o);
    areAllClose = areAllClose && isCloseHere;
    if (isCloseHere || !hasKink())
      continue;
    // Look for a zero between adjacent checks, one of which is positive and one is not.
    for (int64_t i = kDegree + 2; i < kPoints; ++i) {
      const bool before = stored(slot, i - 1, o).value > 0, after = stored(slot, i, o).value > 0;
      if (before == after)
        continue;
      const double zero =
          zeroBetween(left + half * (1 + pointAt(i - 1)), left + half * (1 + pointAt(i)), o);
      if (zero > left + 1e-9 * half && zero < right - 1e-9 * half)
        return zero;
    }
  }
  return areAllClose ? left : left + half;
}

/// Sets `splits` of every open cell to the result of `splitOf`.
template <typename Platform> void Refiner<Platform>::examine() {
  int64_t size = 0;
  for (int64_t cell = 0; cell <= cells; ++cell) {
    if (cell < cells && isOpen[cell] != 0) {
      if (platform.thread() == 0)
        batch[size] = static_cast<double>(cell);
      ++size;
    }
    if (size != kBatch && (cell < cells || size == 0))
      continue;
    platform.barrier();
    evaluateBatch(size);
    for (int64_t slot = platform.thread(); slot < size; slot += platform.threads()) {
      const auto open = static_cast<int64_t>(batch[slot]);
      splits[open] = splitOf(slot, open);
    }
    platform.barrier();
    size = 0;
  }
}

/// Splits the cells at `splits`. Returns false if there are too many.
template <typename Platform> bool Refiner<Platform>::divide() {
  auto isDivided = [&](int64_t cell) { return isOpen[cell] != 0 && splits[cell] > ends[cell]; };
  int64_t count = cells;
  for (int64_t cell = 0; cell < cells; ++cell)
    count += isDivided(cell);
  if (count > capacity)
    return false;
  if (platform.thread() == 0) {
    int64_t to = 0;
    for (int64_t cell = 0; cell < cells; ++cell) {
      const bool divided = isDivided(cell);
      next[to] = ends[cell];
      wasOpen[to++] = divided;
      if (divided) {
        next[to] = splits[cell];
        wasOpen[to++] = 1;
      }
    }
    next[to] = ends[cells];
  }
  platform.barrier();
  cells = count;
  double *swap = ends;
  ends = next, next = swap;
  swap = isOpen;
  isOpen = wasOpen, wasOpen = swap;
  return true;
}

template <typename Platform> bool Refiner<Platform>::run(const double *given, int64_t count) {
  if (count > capacity)
    return false;
  cells = count;
  for (int64_t i = platform.thread(); i <= count; i += platform.threads()) {
    ends[i] = given[i];
    isOpen[i] = 1;
  }
  platform.barrier();
  findScales(given[0], given[count]);
  for (int64_t round = 0; round < kRounds; ++round) {
    const int64_t before = cells;
    examine();
    if (!divide())
      return false;
    if (cells == before)
      return true;
  }
  return true; // the open cells are as narrow as the resolution of doubles
}

template <typename Platform>
void Refiner<Platform>::writeCubics(float *knots, float *coefficients) {
  for (int64_t k = platform.thread(); k <= cells; k += platform.threads())
    knots[k] = static_cast<float>(ends[k]);
  double *nodes = values + platform.thread() * (kDegree + 1) * outputs;
  for (int64_t k = platform.thread(); k < cells; k += platform.threads()) {
    const double half = (ends[k + 1] - ends[k]) / 2, middle = ends[k] + half;
    for (int64_t i = 0; i <= kDegree; ++i) {
      evaluate(middle + half * kNodes[i]);
      for (int64_t o = 0; o < outputs; ++o)
        nodes[o * (kDegree + 1) + i] = at(o).value;
    }
    const float ends32 = static_cast<float>(ends[k]) + static_cast<float>(ends[k + 1]);
    const double off = (static_cast<double>(0.5f * ends32) - middle) / half;
    for (int64_t head = 0; head < heads; ++head) {
      double c[kDegree + 1];
      fitNodes(nodes + outputOf(head) * (kDegree + 1), c);
      // In powers of (t - center) / half.
      const double shifted[] = {c[0] + off * (c[1] + off * (c[2] + off * c[3])),
                                c[1] + off * (2 * c[2] + off * 3 * c[3]), c[2] + 3 * off * c[3],
                                c[3]};
      double unit = 1;
      for (int64_t m = 0; m <= kDegree; ++m, unit /= half)
        coefficients[(head * capacity + k) * (kDegree + 1) + m] =
            static_cast<float>(shifted[m] * unit);
    }
  }
}

} // namespace pe::segments

#endif // PE_RUNTIME_DEVICE_LIBRARY_REFINE_H
