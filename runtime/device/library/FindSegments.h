//===- FindSegments.h - Pieces of a chain of maps of one variable ---------===//
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
// (Refine.h).
//
// The loops are distributed over the threads of a platform (Refine.h), in a sweep by ranges of
// cells. Each thread counts the knots that its cells will have; after a barrier, the prefix sums of
// the counts give the offsets to write them at. Inside a cell the roots are visited in ascending
// order.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_LIBRARY_FINDSEGMENTS_H
#define PE_RUNTIME_DEVICE_LIBRARY_FINDSEGMENTS_H

#include "Refine.h"

namespace pe::segments {

/// Knots closer than this, relative to the larger end of the interval, differ only by rounding.
/// Merging them causes an error of at most their distance times the change of slope.
inline constexpr double kMergeDistance = 4e-15;

inline double magnitude(double x) { return x < 0 ? -x : x; }

/// Knots, and the values of all units of a layer at each knot.
struct Sweep {
  double *knots, *values;
  int64_t count, width;
  double *at(int64_t knot) const { return values + knot * width; }
};

/// Returns the doubles of scratch of a KinkFinder for `threads` threads, links of at most `width`
/// outputs and at most `ends` knots: two numbers per end of the interval and a count per thread,
/// and two sweeps. `Number` is an integer, or an expression of a pass.
template <typename Number>
constexpr Number sweepScratch(int64_t threads, Number width, Number ends) {
  return 5 * threads + 2 * ends * (width + 1);
}

/// Finds the kinks of the links before the first smooth function, or up to the first step function,
/// and the values of these links at the kinks.
template <typename Platform> class KinkFinder {
public:
  KinkFinder(const Platform &platform, const Link *links, int64_t linkCount, int64_t maxKnots,
             double *scratch)
      : platform(platform), links(links), linkCount(linkCount), maxKnots(maxKnots),
        scratch(scratch), width(1) {
    for (int64_t i = 0; i < linkCount; ++i)
      width = links[i].outputs > width ? links[i].outputs : width;
  }

  /// Returns false if there are too many kinks on [low, high], with finite low < high.
  bool run(double low, double high);
  const Sweep &result() const { return h; }
  /// Returns the memory after that of the sweeps.
  double *scratchEnd() const {
    return scratch + sweepScratch(Platform::kMaxThreads, width, maxKnots);
  }

private:
  void applyAffine(const Link &layer);
  /// A root of a unit, and its place in its cell as a share of the length.
  struct Root {
    double knot, share;
    int64_t unit;
  };
  bool findRoot(int64_t cell, int64_t u, Root &root) const;
  bool nextRoot(int64_t cell, Root &root) const;
  int64_t sortRoots(int64_t cell, Root *roots) const;
  template <typename Take> void eachRoot(int64_t cell, Take take) const;
  bool insertRoots();

  Platform platform;
  const Link *links;
  int64_t linkCount, maxKnots;
  double *scratch;
  int64_t width;
  double merge = 0;
  Sweep h = {}, z = {}; // before and after the affine part of a link
};

/// Sets z to the affine part of a layer at every knot of h. A platform with one thread computes
/// several knots at a time, whose sums hide each other's latency.
template <typename Platform> void KinkFinder<Platform>::applyAffine(const Link &layer) {
  constexpr int64_t kKnots = Platform::kMaxThreads == 1 ? 4 : 1;
  z.count = h.count;
  z.width = layer.outputs;
  for (int64_t i = platform.thread(); i < h.count; i += platform.threads())
    z.knots[i] = h.knots[i];
  const int64_t groups = (h.count + kKnots - 1) / kKnots;
  for (int64_t i = platform.thread(); i < groups * layer.outputs; i += platform.threads()) {
    const int64_t first = i / layer.outputs * kKnots, output = i % layer.outputs;
    const float *weights = layer.weight + output * layer.inputs;
    const double *inputs[kKnots]; // the last knot, for knots that do not exist
    double sums[kKnots];
    for (int64_t n = 0; n < kKnots; ++n) {
      inputs[n] = h.at(first + n < h.count ? first + n : h.count - 1);
      sums[n] = layer.bias[output];
    }
    for (int64_t input = 0; input < layer.inputs; ++input) {
      const double weight = weights[input];
      for (int64_t n = 0; n < kKnots; ++n)
        sums[n] += weight * inputs[n][input];
    }
    for (int64_t n = 0; n < kKnots && first + n < h.count; ++n)
      z.at(first + n)[output] = sums[n];
  }
  platform.barrier();
}

/// Returns true if unit `u` has a root inside the cell, and sets `root` to it.
template <typename Platform>
bool KinkFinder<Platform>::findRoot(int64_t cell, int64_t u, Root &root) const {
  const double a = z.at(cell)[u], b = z.at(cell + 1)[u];
  if (!((a < 0 && b > 0) || (a > 0 && b < 0)))
    return false;
  const double share = a / (a - b);
  if (!(share > 0 && share < 1)) // true for infinite values
    return false;
  root = {z.knots[cell] + (z.knots[cell + 1] - z.knots[cell]) * share, share, u};
  return true;
}

/// Sets `root` to the first root of the cell after it, ordered by knot and then by unit.
template <typename Platform> bool KinkFinder<Platform>::nextRoot(int64_t cell, Root &root) const {
  Root best = {0, 0, -1}, found;
  for (int64_t u = 0; u < z.width; ++u) {
    if (!findRoot(cell, u, found))
      continue;
    const bool isAfter = found.knot > root.knot || (found.knot == root.knot && u > root.unit);
    if (isAfter && (best.unit < 0 || found.knot < best.knot))
      best = found;
  }
  if (best.unit < 0)
    return false;
  root = best;
  return true;
}

/// Sorts the roots of the cell, in memory for all units. Returns their number.
template <typename Platform>
int64_t KinkFinder<Platform>::sortRoots(int64_t cell, Root *roots) const {
  int64_t count = 0;
  Root found;
  for (int64_t u = 0; u < z.width; ++u) {
    if (!findRoot(cell, u, found))
      continue;
    int64_t place = count++;
    for (; place > 0 && roots[place - 1].knot > found.knot; --place)
      roots[place] = roots[place - 1];
    roots[place] = found;
  }
  return count;
}

/// Calls take(root) for every root of the cell that becomes a knot: those that are not within
/// `merge` of another knot. A platform with one thread sorts the roots, and others search for each
/// of them, which needs no memory.
template <typename Platform>
template <typename Take>
void KinkFinder<Platform>::eachRoot(int64_t cell, Take take) const {
  double last = z.knots[cell];
  auto visit = [&](const Root &root) {
    if (root.knot - last <= merge || z.knots[cell + 1] - root.knot <= merge)
      return;
    take(root);
    last = root.knot;
  };
  if constexpr (Platform::kMaxThreads == 1) {
    constexpr int64_t kSorted = 64;
    if (z.width <= kSorted) {
      Root roots[kSorted];
      const int64_t count = sortRoots(cell, roots);
      for (int64_t n = 0; n < count; ++n)
        visit(roots[n]);
      return;
    }
  }
  Root root = {-__builtin_huge_val(), 0, -1};
  while (nextRoot(cell, root))
    visit(root);
}

/// Sets h to z with its roots as knots, after the ReLU. Returns false if there are too many knots.
template <typename Platform> bool KinkFinder<Platform>::insertRoots() {
  const int64_t thread = platform.thread(), threads = platform.threads();
  const int64_t cells = z.count - 1, share = (cells + threads - 1) / threads;
  const int64_t begin = thread * share < cells ? thread * share : cells;
  const int64_t end = begin + share < cells ? begin + share : cells;
  int64_t added = 0;
  for (int64_t cell = begin; cell < end; ++cell)
    eachRoot(cell, [&](const Root &) { ++added; });
  double *counts = scratch + 4 * Platform::kMaxThreads;
  counts[thread] = static_cast<double>(added);
  platform.barrier();
  int64_t before = 0, total = 0;
  for (int64_t other = 0; other < threads; ++other) {
    before += other < thread ? static_cast<int64_t>(counts[other]) : 0;
    total += static_cast<int64_t>(counts[other]);
  }
  h.count = z.count + total;
  h.width = z.width;
  if (h.count > maxKnots)
    return false;
  auto relu = [](double x) { return x < 0 ? 0 : x; }; // keeps a NaN
  auto copy = [&](int64_t from, int64_t to) {
    h.knots[to] = z.knots[from];
    for (int64_t i = 0; i < z.width; ++i)
      h.at(to)[i] = relu(z.at(from)[i]);
  };
  int64_t place = begin + before;
  for (int64_t cell = begin; cell < end; ++cell) {
    copy(cell, place++);
    eachRoot(cell, [&](const Root &root) {
      const double *a = z.at(cell), *b = z.at(cell + 1);
      h.knots[place] = root.knot;
      for (int64_t i = 0; i < z.width; ++i)
        h.at(place)[i] = i == root.unit ? 0 : relu(a[i] + (b[i] - a[i]) * root.share);
      ++place;
    });
  }
  if (thread == 0)
    copy(z.count - 1, h.count - 1);
  platform.barrier();
  return true;
}

template <typename Platform> bool KinkFinder<Platform>::run(double low, double high) {
  const double ends[2] = {magnitude(low), magnitude(high)};
  merge = kMergeDistance * (ends[0] > ends[1] ? ends[0] : ends[1]);
  double *at = scratch + 5 * Platform::kMaxThreads;
  h = {at, at + 2 * maxKnots, 2, 1};
  z = {at + maxKnots, at + 2 * maxKnots + maxKnots * width, 2, 1};
  for (int64_t i = platform.thread(); i < 2; i += platform.threads())
    h.knots[i] = h.values[i] = i ? high : low;
  platform.barrier();
  for (int64_t i = 0; i < linkCount; ++i) {
    const auto function = static_cast<Function>(links[i].function);
    const bool isKinked = function == Function::Relu || function == Function::Step;
    if (!isKinked && function != Function::Identity)
      break;
    applyAffine(links[i]);
    if (!isKinked) {
      Sweep swap = h;
      h = z, z = swap;
      continue;
    }
    if (!insertRoots())
      return false;
    if (function == Function::Step)
      break;
  }
  return true;
}

/// Computes the tables of a call. `scratch` has segmentsScratch doubles or more.
template <typename Platform> class SegmentFinder {
public:
  SegmentFinder(const Platform &platform, const PeFindSegments &call, double *scratch)
      : platform(platform), call(call), links(reinterpret_cast<const Link *>(&call + 1)),
        scratch(scratch) {}

  void run();

private:
  bool linksFit() const;
  void findInterval(double &low, double &high);
  void writeKnots(const Sweep &f);
  void writeLines(const Sweep &f);
  void writeConstants(Refiner<Platform> &chain, const Sweep &f);
  void writeOnePiece(float value, int32_t count);

  Platform platform;
  const PeFindSegments &call;
  const Link *links;
  double *scratch;
};

/// Returns true if the shapes of the links match each other and the heads of the tables.
template <typename Platform> bool SegmentFinder<Platform>::linksFit() const {
  int64_t inputs = 1;
  for (int64_t i = 0; i < call.linkCount; ++i) {
    if (links[i].inputs != inputs || links[i].outputs < 1)
      return false;
    inputs = links[i].outputs;
  }
  return call.linkCount > 0 && (inputs == 1 || inputs == call.heads);
}

/// The smallest and the largest finite number, in `lanes` independent parts.
template <int64_t lanes> struct Extremes {
  float low[lanes], high[lanes];

  Extremes() {
    for (int64_t n = 0; n < lanes; ++n) {
      low[n] = __builtin_huge_valf();
      high[n] = -__builtin_huge_valf();
    }
  }
  /// Includes a number in part `n`.
  void include(int64_t n, float value) {
    const bool isFinite = value - value == 0;
    const float atMost = isFinite ? value : __builtin_huge_valf();
    const float atLeast = isFinite ? value : -__builtin_huge_valf();
    low[n] = atMost < low[n] ? atMost : low[n];
    high[n] = atLeast > high[n] ? atLeast : high[n];
  }
  /// Includes the numbers of one thread of `threads`.
  void includeAll(const float *numbers, int64_t count, int64_t thread, int64_t threads) {
    const int64_t whole = count / lanes * lanes;
    for (int64_t i = thread * lanes; i < whole; i += threads * lanes)
      for (int64_t n = 0; n < lanes; ++n)
        include(n, numbers[i + n]);
    for (int64_t i = whole + thread; i < count; i += threads)
      include(0, numbers[i]);
  }
  /// Stores the smallest and the largest number in limits[0] and limits[1].
  void store(double *limits) const {
    limits[0] = low[0];
    limits[1] = high[0];
    for (int64_t n = 1; n < lanes; ++n) {
      limits[0] = low[n] < limits[0] ? low[n] : limits[0];
      limits[1] = high[n] > limits[1] ? high[n] : limits[1];
    }
  }
};

/// Finds the smallest interval that contains every product of finite entries of u and v. A platform
/// with one thread uses vectors.
template <typename Platform> void SegmentFinder<Platform>::findInterval(double &low, double &high) {
  const int64_t thread = platform.thread(), threads = platform.threads();
  const double infinity = __builtin_huge_val();
  Extremes<Platform::kMaxThreads == 1 ? 16 : 1> ofU, ofV;
  for (int64_t row = 0; row < call.uRows; ++row)
    ofU.includeAll(call.u + row * call.uStride, call.uCount, thread, threads);
  ofV.includeAll(call.v, call.vCount, thread, threads);
  double limits[4];
  ofU.store(limits);
  ofV.store(limits + 2);
  for (int i = 0; i < 4; ++i)
    scratch[thread * 4 + i] = limits[i];
  platform.barrier();
  for (int64_t other = 0; other < threads; ++other)
    for (int i = 0; i < 4; i += 2) {
      const double *at = scratch + other * 4 + i;
      limits[i] = at[0] < limits[i] ? at[0] : limits[i];
      limits[i + 1] = at[1] > limits[i + 1] ? at[1] : limits[i + 1];
    }
  low = high = 0;
  if (limits[0] <= limits[1] && limits[2] <= limits[3]) {
    low = infinity;
    high = -infinity;
    for (int i = 0; i < 4; ++i) {
      double product = limits[i & 1] * limits[2 + (i >> 1)];
      low = product < low ? product : low;
      high = product > high ? product : high;
    }
  }
  // The interval is a single point; extend it to the right.
  if (!(low < high))
    high = low + (magnitude(low) > 1 ? magnitude(low) : 1.0) / 1024;
}

template <typename Platform> void SegmentFinder<Platform>::writeKnots(const Sweep &f) {
  if (platform.thread() == 0)
    *call.count = static_cast<int32_t>(f.count - 1);
  for (int64_t k = platform.thread(); k < f.count; k += platform.threads())
    call.knots[k] = static_cast<float>(f.knots[k]);
}

/// Writes slope and offset of every piece in f32. The offset is computed from the rounded slope at
/// the end of the piece nearest zero, so that the error of the slope grows from there and not from
/// zero.
template <typename Platform> void SegmentFinder<Platform>::writeLines(const Sweep &f) {
  const int64_t count = f.count - 1;
  writeKnots(f);
  for (int64_t i = platform.thread(); i < call.heads * count; i += platform.threads()) {
    const int64_t head = i / count, k = i % count, output = f.width == 1 ? 0 : head;
    const double left = f.knots[k], right = f.knots[k + 1];
    const double a = f.at(k)[output], b = f.at(k + 1)[output];
    const float slope = static_cast<float>((b - a) / (right - left));
    const bool isLeft = magnitude(left) <= magnitude(right);
    float *to = call.coefficients + (head * call.capacity + k) * 2;
    to[0] = static_cast<float>((isLeft ? a : b) - slope * (isLeft ? left : right));
    to[1] = slope;
  }
}

/// Writes the values of the chain at the centers of the pieces.
template <typename Platform>
void SegmentFinder<Platform>::writeConstants(Refiner<Platform> &chain, const Sweep &f) {
  writeKnots(f);
  for (int64_t k = platform.thread(); k < f.count - 1; k += platform.threads()) {
    chain.evaluate(f.knots[k] + (f.knots[k + 1] - f.knots[k]) / 2);
    for (int64_t head = 0; head < call.heads; ++head)
      call.coefficients[head * call.capacity + k] =
          static_cast<float>(chain.at(chain.outputOf(head)).value);
  }
}

/// Writes a table of one piece with all coefficients equal to `value`, and sets its count.
template <typename Platform>
void SegmentFinder<Platform>::writeOnePiece(float value, int32_t count) {
  if (platform.thread() == 0)
    *call.count = count;
  if (call.capacity < 1)
    return;
  for (int64_t i = platform.thread(); i < 2; i += platform.threads())
    call.knots[i] = static_cast<float>(i);
  const int64_t powers = call.degree + 1;
  for (int64_t i = platform.thread(); i < call.heads * powers; i += platform.threads())
    call.coefficients[i / powers * call.capacity * powers + i % powers] = value;
}

template <typename Platform> void SegmentFinder<Platform>::run() {
  if (!linksFit() || call.capacity < 1)
    return writeOnePiece(__builtin_nanf(""), 1);
  double low, high;
  findInterval(low, high);
  KinkFinder<Platform> kinks(platform, links, call.linkCount, call.capacity + 1, scratch);
  if (!kinks.run(low, high))
    return writeOnePiece(0, 0);
  const Sweep &f = kinks.result();
  if (call.degree == 1)
    return writeLines(f);
  Refiner<Platform> refiner(platform, links, call.linkCount, call.heads, call.capacity,
                            call.tolerance, kinks.scratchEnd());
  if (call.degree == 0)
    return writeConstants(refiner, f);
  if (!refiner.run(f.knots, f.count - 1))
    return writeOnePiece(0, 0);
  if (platform.thread() == 0)
    *call.count = static_cast<int32_t>(refiner.count());
  refiner.writeCubics(call.knots, call.coefficients);
}

/// Returns the doubles of scratch of a SegmentFinder for pieces of degree `degree`. For the other
/// arguments see sweepScratch and refineScratch.
template <typename Number>
constexpr Number segmentsScratch(int64_t threads, int64_t degree, Number width, Number ends) {
  const Number sweeps = sweepScratch(threads, width, ends);
  return degree == 1 ? sweeps : sweeps + refineScratch(threads, width, ends);
}

} // namespace pe::segments

#endif // PE_RUNTIME_DEVICE_LIBRARY_FINDSEGMENTS_H
