//===- DeviceLibrary.h - Functions that GPU kernels call ------------------===//
//
// Freestanding code that clang compiles for NVPTX, as bitcode that libpe-jit links into a kernel
// module (runtime/jit/Ptx.cpp). Kernels call the functions as `pe_gpu_*` (passes/ToGPU). Nothing
// here allocates or includes headers of a host library. Host code includes these headers for the
// sizes of scratch memory (segmentsScratch in FindSegments.h).
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

/// Unary and binary functions without an accurate PTX instruction, in f32 and f64:
/// `pe_gpu_NAME_f32`, `pe_gpu_NAME_f64`. The device build calls libclc (with OpenCL's accuracy: at
/// most 4 ulp, `pow` and `erf` 16 ulp).
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

struct PeFindSegments;

/// Computes the same as `pe_find_segments` (runtime/device/cpu/Segments.h) from the same argument
/// block (SegmentsCall.h). Every thread of one CTA of `threads` threads must call it with the same
/// arguments. `scratch` is global memory of segmentsScratch (FindSegments.h) doubles or more.
void pe_gpu_find_segments(const PeFindSegments *call, double *scratch, int32_t threads);

} // extern "C"

/// The largest number of threads of the CTA.
inline constexpr int64_t kPeGpuSegmentsThreads = 128;

#endif // PE_RUNTIME_DEVICE_LIBRARY_DEVICELIBRARY_H
