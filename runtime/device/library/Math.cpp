//===- Math.cpp - Mathematical functions ----------------------------------===//
#include "DeviceLibrary.h"

// The mangled names of these declarations are those of OpenCL's built-in functions.
#define PE_GPU_DECLARE_BUILTIN_UNARY(name)                                                         \
  float name(float);                                                                               \
  double name(double);
#define PE_GPU_DECLARE_BUILTIN_BINARY(name)                                                        \
  float name(float, float);                                                                        \
  double name(double, double);
PE_GPU_UNARY(PE_GPU_DECLARE_BUILTIN_UNARY)
PE_GPU_BINARY(PE_GPU_DECLARE_BUILTIN_BINARY)

#define PE_GPU_DEFINE_UNARY(name)                                                                  \
  float pe_gpu_##name##_f32(float x) { return ::name(x); }                                         \
  double pe_gpu_##name##_f64(double x) { return ::name(x); }
#define PE_GPU_DEFINE_BINARY(name)                                                                 \
  float pe_gpu_##name##_f32(float x, float y) { return ::name(x, y); }                             \
  double pe_gpu_##name##_f64(double x, double y) { return ::name(x, y); }

PE_GPU_UNARY(PE_GPU_DEFINE_UNARY)
PE_GPU_BINARY(PE_GPU_DEFINE_BINARY)
