//===- FindSegments.cpp - Pieces of a chain of maps, found by a CTA -------===//
//
// The algorithm of runtime/device/cpu/Segments.h with its loops distributed over threads. Each
// thread owns a contiguous range of the cells of a sweep. It counts the knots that its cells will
// have; after a barrier, the prefix sums of the counts give the offsets to write them at. Inside a
// cell the roots are visited in ascending order by searching for the next one, which needs no
// memory.
//
//===----------------------------------------------------------------------===//
#include "DeviceLibrary.h"
#include "Refine.h"

extern "C" {

static int32_t threadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
static void barrier() { __syncthreads(); }

} // extern "C"

namespace {

/// The same value as in runtime/device/cpu/Segments.cpp.
constexpr double kMergeDistance = 4e-15;

double magnitude(double x) { return x < 0 ? -x : x; }
bool isFinite(float x) { return x - x == 0; }

using pe::segments::Function;
using pe::segments::Link;

/// The platform of Refine.h with the threads of the CTA and the functions of the device.
struct CtaPlatform {
  int64_t thread() const { return index; }
  int64_t threads() const { return count; }
  void barrier() const { ::barrier(); }
  double erf(double x) const { return pe_gpu_erf_f64(x); }
  double exp(double x) const { return pe_gpu_exp_f64(x); }
  double tanh(double x) const { return pe_gpu_tanh_f64(x); }
  double sin(double x) const { return pe_gpu_sin_f64(x); }
  double cos(double x) const { return pe_gpu_cos_f64(x); }
  int64_t index, count;
};

/// Knots, and the values of all units of a layer at each knot.
struct Sweep {
  double *knots, *values;
  int64_t count, width;
  double *at(int64_t knot) const { return values + knot * width; }
};

class Finder {
public:
  Finder(const PeFindSegments &call, double *scratch, int32_t threads)
      : call(call), links(reinterpret_cast<const Link *>(&call + 1)), scratch(scratch),
        threads(threads), thread(threadIndex()), maxKnots(call.capacity + 1) {}

  void run();

private:
  bool linksFit() const;
  void findInterval(double &low, double &high);
  void applyAffine(const Sweep &from, Sweep &to, const Link &layer);
  bool nextRoot(const Sweep &z, int64_t cell, double &knot, int64_t &unit, double &share) const;
  template <typename Take> void eachRoot(const Sweep &z, int64_t cell, Take take) const;
  bool insertRoots(const Sweep &z, Sweep &out);
  bool sweep(Sweep &h, Sweep &z);
  void writeLines(const Sweep &f);
  void writeConstants(pe::segments::Refiner<CtaPlatform> &chain, const Sweep &f);
  void writeOnePiece(float value, int32_t count);

  const PeFindSegments &call;
  const Link *links;
  double *scratch;
  int64_t threads, thread, maxKnots;
  double merge = 0;
};

bool Finder::linksFit() const {
  int64_t inputs = 1;
  for (int64_t i = 0; i < call.linkCount; ++i) {
    if (links[i].inputs != inputs || links[i].outputs < 1)
      return false;
    inputs = links[i].outputs;
  }
  return call.linkCount > 0 && (inputs == 1 || inputs == call.heads);
}

/// Finds the smallest interval that contains every product of finite entries of u and v.
void Finder::findInterval(double &low, double &high) {
  const double infinity = __builtin_huge_val();
  double limits[4] = {infinity, -infinity, infinity, -infinity};
  auto include = [](double *limit, float value) {
    if (!isFinite(value))
      return;
    limit[0] = value < limit[0] ? value : limit[0];
    limit[1] = value > limit[1] ? value : limit[1];
  };
  for (int64_t row = 0; row < call.uRows; ++row)
    for (int64_t i = thread; i < call.uCount; i += threads)
      include(limits, call.u[row * call.uStride + i]);
  for (int64_t i = thread; i < call.vCount; i += threads)
    include(limits + 2, call.v[i]);
  for (int i = 0; i < 4; ++i)
    scratch[thread * 4 + i] = limits[i];
  barrier();
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

void Finder::applyAffine(const Sweep &from, Sweep &to, const Link &layer) {
  to.count = from.count;
  to.width = layer.outputs;
  for (int64_t i = thread; i < from.count; i += threads)
    to.knots[i] = from.knots[i];
  for (int64_t i = thread; i < from.count * layer.outputs; i += threads) {
    const int64_t knot = i / layer.outputs, output = i % layer.outputs;
    double sum = layer.bias[output];
    for (int64_t input = 0; input < layer.inputs; ++input)
      sum +=
          static_cast<double>(layer.weight[output * layer.inputs + input]) * from.at(knot)[input];
    to.values[i] = sum;
  }
  barrier();
}

/// Finds the first root of the cell after (knot, unit), ordered by knot and then by unit.
bool Finder::nextRoot(const Sweep &z, int64_t cell, double &knot, int64_t &unit,
                      double &share) const {
  const double left = z.knots[cell], width = z.knots[cell + 1] - left;
  double bestKnot = 0, bestShare = 0;
  int64_t bestUnit = -1;
  for (int64_t u = 0; u < z.width; ++u) {
    const double a = z.at(cell)[u], b = z.at(cell + 1)[u];
    if (!((a < 0 && b > 0) || (a > 0 && b < 0)))
      continue;
    const double s = a / (a - b);
    if (!(s > 0 && s < 1))
      continue;
    const double at = left + width * s;
    const bool isAfter = at > knot || (at == knot && u > unit);
    if (isAfter && (bestUnit < 0 || at < bestKnot)) {
      bestKnot = at;
      bestShare = s;
      bestUnit = u;
    }
  }
  if (bestUnit < 0)
    return false;
  knot = bestKnot;
  unit = bestUnit;
  share = bestShare;
  return true;
}

/// Calls take(knot, unit, share) for every root of the cell that becomes a knot.
template <typename Take> void Finder::eachRoot(const Sweep &z, int64_t cell, Take take) const {
  double last = z.knots[cell], knot = -__builtin_huge_val(), share = 0;
  int64_t unit = -1;
  while (nextRoot(z, cell, knot, unit, share)) {
    if (knot - last <= merge || z.knots[cell + 1] - knot <= merge)
      continue;
    take(knot, unit, share);
    last = knot;
  }
}

/// Adds the roots of `z` as knots and applies the ReLU. Returns false if there are too many knots.
bool Finder::insertRoots(const Sweep &z, Sweep &out) {
  const int64_t cells = z.count - 1, share = (cells + threads - 1) / threads;
  const int64_t begin = thread * share < cells ? thread * share : cells;
  const int64_t end = begin + share < cells ? begin + share : cells;
  int64_t added = 0;
  for (int64_t cell = begin; cell < end; ++cell)
    eachRoot(z, cell, [&](double, int64_t, double) { ++added; });
  double *counts = scratch + 4 * kPeGpuSegmentsThreads;
  counts[thread] = static_cast<double>(added);
  barrier();
  int64_t before = 0, total = 0;
  for (int64_t other = 0; other < threads; ++other) {
    before += other < thread ? static_cast<int64_t>(counts[other]) : 0;
    total += static_cast<int64_t>(counts[other]);
  }
  out.count = z.count + total;
  out.width = z.width;
  if (out.count > maxKnots)
    return false;
  auto relu = [](double x) { return x < 0 ? 0 : x; }; // keeps a NaN
  auto copy = [&](int64_t from, int64_t to) {
    out.knots[to] = z.knots[from];
    for (int64_t i = 0; i < z.width; ++i)
      out.at(to)[i] = relu(z.at(from)[i]);
  };
  int64_t place = begin + before;
  for (int64_t cell = begin; cell < end; ++cell) {
    copy(cell, place++);
    eachRoot(z, cell, [&](double knot, int64_t unit, double part) {
      const double *a = z.at(cell), *b = z.at(cell + 1);
      out.knots[place] = knot;
      for (int64_t i = 0; i < z.width; ++i)
        out.at(place)[i] = i == unit ? 0 : relu(a[i] + (b[i] - a[i]) * part);
      ++place;
    });
  }
  if (thread == 0)
    copy(z.count - 1, out.count - 1);
  barrier();
  return true;
}

void Finder::writeLines(const Sweep &f) {
  const int64_t count = f.count - 1;
  if (thread == 0)
    *call.count = static_cast<int32_t>(count);
  for (int64_t k = thread; k <= count; k += threads)
    call.knots[k] = static_cast<float>(f.knots[k]);
  for (int64_t i = thread; i < call.heads * count; i += threads) {
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
void Finder::writeConstants(pe::segments::Refiner<CtaPlatform> &chain, const Sweep &f) {
  const int64_t count = f.count - 1;
  if (thread == 0)
    *call.count = static_cast<int32_t>(count);
  for (int64_t k = thread; k <= count; k += threads)
    call.knots[k] = static_cast<float>(f.knots[k]);
  for (int64_t k = thread; k < count; k += threads) {
    chain.evaluate(f.knots[k] + (f.knots[k + 1] - f.knots[k]) / 2);
    for (int64_t head = 0; head < call.heads; ++head)
      call.coefficients[head * call.capacity + k] =
          static_cast<float>(chain.at(chain.outputOf(head)).value);
  }
}

/// Writes a table of one piece with all coefficients equal to `value`, and sets its count.
void Finder::writeOnePiece(float value, int32_t count) {
  if (thread == 0)
    *call.count = count;
  if (call.capacity < 1)
    return;
  if (thread < 2)
    call.knots[thread] = static_cast<float>(thread);
  const int64_t powers = call.degree + 1;
  for (int64_t i = thread; i < call.heads * powers; i += threads)
    call.coefficients[i / powers * call.capacity * powers + i % powers] = value;
}

/// Finds the kinks of the links before the first smooth function, or up to the first step function,
/// and stores them and the values of these links in `h`. Returns false if there are too many kinks.
bool Finder::sweep(Sweep &h, Sweep &z) {
  for (int64_t i = 0; i < call.linkCount; ++i) {
    const auto function = static_cast<Function>(links[i].function);
    const bool isKinked = function == Function::Relu || function == Function::Step;
    if (!isKinked && function != Function::Identity)
      break;
    applyAffine(h, z, links[i]);
    if (!isKinked) {
      Sweep swap = h;
      h = z, z = swap;
      continue;
    }
    if (!insertRoots(z, h))
      return false;
    if (function == Function::Step)
      break;
  }
  return true;
}

void Finder::run() {
  if (!linksFit() || call.capacity < 1)
    return writeOnePiece(__builtin_nanf(""), 1);
  double low, high;
  findInterval(low, high);
  const double ends[2] = {magnitude(low), magnitude(high)};
  merge = kMergeDistance * (ends[0] > ends[1] ? ends[0] : ends[1]);
  int64_t width = 1;
  for (int64_t i = 0; i < call.linkCount; ++i)
    width = links[i].outputs > width ? links[i].outputs : width;
  double *at = scratch + 5 * kPeGpuSegmentsThreads;
  Sweep h = {at, at + 2 * maxKnots, 2, 1};
  Sweep z = {at + maxKnots, at + 2 * maxKnots + maxKnots * width, 2, 1};
  if (thread < 2)
    h.knots[thread] = h.values[thread] = thread ? high : low;
  barrier();
  if (!sweep(h, z))
    return writeOnePiece(0, 0);
  if (call.degree == 1)
    return writeLines(h);
  pe::segments::Refiner<CtaPlatform> refiner({thread, threads}, links, call.linkCount, call.heads,
                                             call.capacity, call.tolerance,
                                             scratch + pe::segments::sweepScratch(width, maxKnots));
  if (call.degree == 0)
    return writeConstants(refiner, h);
  if (!refiner.run(h.knots, h.count - 1))
    return writeOnePiece(0, 0);
  if (thread == 0)
    *call.count = static_cast<int32_t>(refiner.count());
  refiner.writeCubics(call.knots, call.coefficients);
}

} // namespace

void pe_gpu_find_segments(const PeFindSegments *call, double *scratch, int32_t threads) {
  Finder(*call, scratch, threads).run();
}
