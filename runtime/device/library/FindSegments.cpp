//===- FindSegments.cpp - Pieces of a chain of maps, found by a CTA -------===//
#include "FindSegments.h"

namespace {

/// The platform of FindSegments.h with the threads of the CTA and the functions of the device.
struct CtaPlatform {
  static constexpr int64_t kMaxThreads = kPeGpuSegmentsThreads;
  int64_t thread() const { return index; }
  int64_t threads() const { return count; }
  void barrier() const { __syncthreads(); }
  double erf(double x) const { return pe_gpu_erf_f64(x); }
  double exp(double x) const { return pe_gpu_exp_f64(x); }
  double tanh(double x) const { return pe_gpu_tanh_f64(x); }
  double sin(double x) const { return pe_gpu_sin_f64(x); }
  double cos(double x) const { return pe_gpu_cos_f64(x); }
  int64_t index, count;
};

} // namespace

void pe_gpu_find_segments(const PeFindSegments *call, double *scratch, int32_t threads) {
  const CtaPlatform platform = {__nvvm_read_ptx_sreg_tid_x(), threads};
  pe::segments::SegmentFinder<CtaPlatform>(platform, *call, scratch).run();
}
