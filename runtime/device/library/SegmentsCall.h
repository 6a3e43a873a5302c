//===- SegmentsCall.h - The arguments of find_segments --------------------===//
//
// Compiled code writes this block as 64-bit words (passes/ToLoops/ScalarStage.cpp), and
// pe_find_segments on CPUs and pe_gpu_find_segments on GPUs read it.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_LIBRARY_SEGMENTSCALL_H
#define PE_RUNTIME_DEVICE_LIBRARY_SEGMENTSCALL_H

#include "DeviceLibrary.h"
#include "runtime/plan/Activations.h"

namespace pe::segments {

/// The functions between the maps.
using Function = plan::Activation;

/// Maps x to function(weight x + bias), with weight [outputs, inputs] row-major and bias [outputs].
struct Link {
  const float *weight;
  const float *bias;
  int64_t outputs;
  int64_t inputs;
  int64_t function;
};

} // namespace pe::segments

/// The argument block, followed in memory by `linkCount` links.
struct PeFindSegments {
  /// u[uRows][uStride], of which the first uCount entries of each row are used, and v[vCount]. The
  /// argument of the chain is the product of an entry of u and an entry of v.
  const float *u;
  int64_t uRows, uStride, uCount;
  const float *v;
  int64_t vCount;
  /// Outputs: knots[capacity + 1], coefficients[heads][capacity][degree + 1], count[1].
  float *knots, *coefficients;
  int32_t *count;
  int64_t heads, capacity, degree;
  double tolerance;
  int64_t linkCount;
};

// Every field is one word, without padding.
static_assert(sizeof(PeFindSegments) == 14 * 8 && sizeof(pe::segments::Link) == 5 * 8);

#endif // PE_RUNTIME_DEVICE_LIBRARY_SEGMENTSCALL_H
