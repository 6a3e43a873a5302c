//===- DeviceLibrary.h - functions that GPU kernels call ------------------===//
//
// Freestanding code, compiled twice: by clang for NVPTX, as bitcode that libpe-jit links into a
// kernel module (runtime/jit/Ptx.cpp), and for the host, where the emulator runs it. Kernels name
// the functions `pe_gpu_*` (passes/ToGPU). Nothing here allocates, and the device build includes no
// host library headers.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_LIBRARY_DEVICELIBRARY_H
#define PE_RUNTIME_DEVICE_LIBRARY_DEVICELIBRARY_H

#ifdef __NVPTX__
using int32_t = int;
using int64_t = long long;
#else
#include <cstdint>
#endif

/// Functions of one and of two arguments that PTX has no accurate instruction for, in f32 and f64:
/// `pe_gpu_NAME_f32`, `pe_gpu_NAME_f64`. On the device they are libclc's (OpenCL's accuracy: at
/// most 4 ulp, `pow` 16 ulp, `erf` 16 ulp), on the host the C++ library's.
// clang-format off
#define PE_GPU_UNARY(X) \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(exp) X(exp2) X(expm1) \
  X(log) X(log2) X(log10) X(log1p) X(cbrt) X(erf) X(erfc)
// clang-format on
#define PE_GPU_BINARY(X) X(pow) X(atan2) X(fmod)

#define PE_GPU_DECLARE_UNARY(name)                                                                 \
  float pe_gpu_##name##_f32(float x);                                                              \
  double pe_gpu_##name##_f64(double x);
#define PE_GPU_DECLARE_BINARY(name)                                                                \
  float pe_gpu_##name##_f32(float x, float y);                                                     \
  double pe_gpu_##name##_f64(double x, double y);

extern "C" {

PE_GPU_UNARY(PE_GPU_DECLARE_UNARY)
PE_GPU_BINARY(PE_GPU_DECLARE_BINARY)

struct PeGpuFindSegments;

/// As `pe_find_segments` (runtime/device/cpu/Segments.h) with the same argument block, called by
/// every thread of one CTA of `threads` threads with the same arguments. `scratch` is global
/// memory of at least peGpuSegmentsScratch(capacity, widest link) doubles and, where the degree is
/// not 1, what pe::segments::refineScratch (Refine.h) adds.
void pe_gpu_find_segments(const PeGpuFindSegments *call, double *scratch, int32_t threads);

} // extern "C"

/// Doubles needed to find `capacity` segments of a chain with links of at most `width` outputs:
/// product bounds per thread, counts per thread, and two sweeps of knots and values.
inline constexpr int64_t kPeGpuSegmentsThreads = 128;
constexpr int64_t peGpuSegmentsScratch(int64_t capacity, int64_t width) {
  return 5 * kPeGpuSegmentsThreads + 2 * (capacity + 1) * (width + 1);
}

#endif // PE_RUNTIME_DEVICE_LIBRARY_DEVICELIBRARY_H
