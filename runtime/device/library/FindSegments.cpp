//===- FindSegments.cpp - the node-value sweep, by a CTA ------------------===//
//
// The algorithm of runtime/device/cpu/Segments.h with its loops divided among threads. The cells
// of a sweep are divided into one contiguous piece per thread: every thread counts the knots that
// its cells will have, and after a barrier knows where to write them. Inside a cell the roots are
// taken in ascending order by searching for the next one, which needs no memory.
//
//===----------------------------------------------------------------------===//
#include "DeviceLibrary.h"

extern "C" {

struct PeGpuSegmentsLayer {
  const float *weight, *bias;
  int64_t outputs, inputs;
};

/// The same words as PeFindSegments; the layers follow it.
struct PeGpuFindSegments {
  const float *u;
  int64_t uRows, uStride, uCount;
  const float *v;
  int64_t vCount;
  float *knots, *slope, *offset;
  int32_t *count;
  int64_t heads, capacity, layerCount;
};

#ifdef __NVPTX__
static int32_t threadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
static void barrier() { __syncthreads(); }
#else
int32_t pe_emu_thread();
void pe_emu_barrier(const char *where);
static int32_t threadIndex() { return pe_emu_thread(); }
static void barrier() { pe_emu_barrier("pe_gpu_find_segments"); }
#endif

} // extern "C"

namespace {

/// As in runtime/device/cpu/Segments.cpp.
constexpr double kMergeDistance = 4e-15;

double magnitude(double x) { return x < 0 ? -x : x; }
bool isFinite(float x) { return x - x == 0; }

/// Knots and, for each, the values of all units of a layer; at most `capacity` knots.
struct Sweep {
  double *knots, *values;
  int64_t count, width;
  double *at(int64_t knot) const { return values + knot * width; }
};

class Finder {
public:
  Finder(const PeGpuFindSegments &call, double *scratch, int32_t threads)
      : call(call), layers(reinterpret_cast<const PeGpuSegmentsLayer *>(&call + 1)),
        scratch(scratch), threads(threads), thread(threadIndex()), maxKnots(call.capacity + 1) {}

  void run();

private:
  bool layersFit() const;
  void findInterval(double &low, double &high);
  void applyAffine(const Sweep &from, Sweep &to, const PeGpuSegmentsLayer &layer);
  bool nextRoot(const Sweep &z, int64_t cell, double &knot, int64_t &unit, double &share) const;
  template <typename Take> void eachRoot(const Sweep &z, int64_t cell, Take take) const;
  bool insertRoots(const Sweep &z, Sweep &out);
  void writeTables(const Sweep &f);
  void writeFailure();

  const PeGpuFindSegments &call;
  const PeGpuSegmentsLayer *layers;
  double *scratch;
  int64_t threads, thread, maxKnots;
  double merge = 0;
};

bool Finder::layersFit() const {
  int64_t inputs = 1;
  for (int64_t i = 0; i < call.layerCount; ++i) {
    if (layers[i].inputs != inputs || layers[i].outputs < 1)
      return false;
    inputs = layers[i].outputs;
  }
  return call.layerCount > 0 && (inputs == 1 || inputs == call.heads);
}

/// The smallest interval with every product of finite entries of u and v.
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
  // A single point: the piece to its right.
  if (!(low < high))
    high = low + (magnitude(low) > 1 ? magnitude(low) : 1.0) / 1024;
}

void Finder::applyAffine(const Sweep &from, Sweep &to, const PeGpuSegmentsLayer &layer) {
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

/// The first root of the cell after (knot, unit), ordered by knot and then by unit.
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
    const bool isBehind = at > knot || (at == knot && u > unit);
    if (isBehind && (bestUnit < 0 || at < bestKnot)) {
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

/// `z` with its roots as additional knots, after the ReLU; false if there are too many.
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

void Finder::writeTables(const Sweep &f) {
  const int64_t count = f.count - 1;
  if (thread == 0)
    *call.count = static_cast<int32_t>(count);
  for (int64_t k = 1 + thread; k < count; k += threads)
    call.knots[k - 1] = static_cast<float>(f.knots[k]);
  for (int64_t i = thread; i < call.heads * count; i += threads) {
    const int64_t head = i / count, k = i % count, output = f.width == 1 ? 0 : head;
    const double left = f.knots[k], right = f.knots[k + 1];
    const double a = f.at(k)[output], b = f.at(k + 1)[output];
    const float slope = static_cast<float>((b - a) / (right - left));
    const bool isLeft = magnitude(left) <= magnitude(right);
    call.slope[head * call.capacity + k] = slope;
    call.offset[head * call.capacity + k] =
        static_cast<float>((isLeft ? a : b) - slope * (isLeft ? left : right));
  }
}

void Finder::writeFailure() {
  if (thread == 0)
    *call.count = 1;
  if (call.capacity < 1)
    return;
  for (int64_t head = thread; head < call.heads; head += threads)
    call.slope[head * call.capacity] = call.offset[head * call.capacity] = __builtin_nanf("");
}

void Finder::run() {
  if (!layersFit())
    return writeFailure();
  double low, high;
  findInterval(low, high);
  const double ends[2] = {magnitude(low), magnitude(high)};
  merge = kMergeDistance * (ends[0] > ends[1] ? ends[0] : ends[1]);
  int64_t width = 1;
  for (int64_t i = 0; i < call.layerCount; ++i)
    width = layers[i].outputs > width ? layers[i].outputs : width;
  double *at = scratch + 5 * kPeGpuSegmentsThreads;
  Sweep h = {at, at + 2 * maxKnots, 2, 1};
  Sweep z = {at + maxKnots, at + 2 * maxKnots + maxKnots * width, 2, 1};
  if (call.capacity < 1)
    return writeFailure();
  if (thread < 2)
    h.knots[thread] = h.values[thread] = thread ? high : low;
  barrier();
  for (int64_t i = 0; i + 1 < call.layerCount; ++i) {
    applyAffine(h, z, layers[i]);
    if (!insertRoots(z, h))
      return writeFailure();
  }
  applyAffine(h, z, layers[call.layerCount - 1]);
  writeTables(z);
}

} // namespace

void pe_gpu_find_segments(const PeGpuFindSegments *call, double *scratch, int32_t threads) {
  Finder(*call, scratch, threads).run();
}
