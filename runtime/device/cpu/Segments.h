//===- Segments.h - Pieces of a chain of maps, found on the host ----------===//
//
// Compiled code calls the C symbol `pe_find_segments` (tile.find_segments). GPUs run the same
// algorithm (../library/FindSegments.h).
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
#define PE_RUNTIME_DEVICE_CPU_SEGMENTS_H

#include "runtime/device/library/SegmentsCall.h"

#include <cmath>
#include <cstdint>

extern "C" {

/// Fills the tables with `count` pieces, their ends and their polynomials in the format that
/// tile.segments reads. A chain with one output applies to all heads. If the tables are too small,
/// `count` is 0. If the shapes of the links do not match, nothing is accessed out of bounds and
/// there is one piece of NaN, which makes every result NaN.
void pe_find_segments(const PeFindSegments *call);

} // extern "C"

namespace pe::cpu {

/// The platform of FindSegments.h with one thread and the functions of the C++ library.
struct HostPlatform {
  static constexpr int64_t kMaxThreads = 1;
  int64_t thread() const { return 0; }
  int64_t threads() const { return 1; }
  void barrier() const {}
  double erf(double x) const { return std::erf(x); }
  double exp(double x) const { return std::exp(x); }
  double tanh(double x) const { return std::tanh(x); }
  double sin(double x) const { return std::sin(x); }
  double cos(double x) const { return std::cos(x); }
};

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_SEGMENTS_H
