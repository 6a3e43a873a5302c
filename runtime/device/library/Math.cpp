//===- Math.cpp - Mathematical functions ----------------------------------===//
#include "DeviceLibrary.h"

#ifdef __NVPTX__
// The mangled names of these declarations are those of OpenCL's built-in functions.
#define PE_GPU_DECLARE_BUILTIN_UNARY(name)                                                         \
  float name(float);                                                                               \
  double name(double);
#define PE_GPU_DECLARE_BUILTIN_BINARY(name)                                                        \
  float name(float, float);                                                                        \
  double name(double, double);
PE_GPU_UNARY(PE_GPU_DECLARE_BUILTIN_UNARY)
PE_GPU_BINARY(PE_GPU_DECLARE_BUILTIN_BINARY)
#define PE_GPU_FUNCTION(name) ::name
#else
#include <cmath>
#define PE_GPU_FUNCTION(name) std::name
#endif

#define PE_GPU_DEFINE_UNARY(name)                                                                  \
  float pe_gpu_##name##_f32(float x) { return PE_GPU_FUNCTION(name)(x); }                          \
  double pe_gpu_##name##_f64(double x) { return PE_GPU_FUNCTION(name)(x); }
#define PE_GPU_DEFINE_BINARY(name)                                                                 \
  float pe_gpu_##name##_f32(float x, float y) { return PE_GPU_FUNCTION(name)(x, y); }              \
  double pe_gpu_##name##_f64(double x, double y) { return PE_GPU_FUNCTION(name)(x, y); }

PE_GPU_UNARY(PE_GPU_DEFINE_UNARY)
PE_GPU_BINARY(PE_GPU_DEFINE_BINARY)
