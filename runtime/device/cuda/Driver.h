//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//
//
// The functions of libcuda that pe uses, with the types of its stable C interface. Nothing links
// CUDA, so a machine without a driver reports an error only when the target is used.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CUDA_DRIVER_H
#define PE_RUNTIME_DEVICE_CUDA_DRIVER_H

#include "pe/Error.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace pe::cuda {

using Result = int; // CUresult; 0 is success
using DeviceId = int;
using DevicePointer = uint64_t;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Kernel = struct KernelTag *;
using Stream = struct StreamTag *;
using Event = struct EventTag *;

/// A copy of rows of equal length, with a pitch for each side (CUDA_MEMCPY2D).
struct Copy2D {
  struct Side {
    size_t xInBytes = 0, y = 0;
    int memoryType = 2; // device memory
    void *host = nullptr;
    DevicePointer device = 0;
    void *array = nullptr;
    size_t pitch = 0;
  };
  Side from, to;
  size_t widthInBytes = 0, height = 0;
};

/// Attributes of devices and functions, with their values in cuda.h.
enum DeviceAttribute {
  kMultiprocessors = 16,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedPerBlockOptin = 97
};
enum FunctionAttribute { kMaxDynamicShared = 8 };
/// Options of module loading.
enum ModuleOption { kErrorLog = 5, kErrorLogBytes = 6 };

/// X(name of the member, symbol in libcuda, arguments)
#define PE_CUDA_FUNCTIONS(X)                                                                       \
  X(init, cuInit, (unsigned flags))                                                                \
  X(driverVersion, cuDriverGetVersion, (int *version))                                             \
  X(deviceCount, cuDeviceGetCount, (int *count))                                                   \
  X(deviceGet, cuDeviceGet, (DeviceId * device, int ordinal))                                      \
  X(deviceName, cuDeviceGetName, (char *name, int bytes, DeviceId device))                         \
  X(deviceAttribute, cuDeviceGetAttribute, (int *value, int attribute, DeviceId device))           \
  X(contextRetain, cuDevicePrimaryCtxRetain, (Context * context, DeviceId device))                 \
  X(contextRelease, cuDevicePrimaryCtxRelease_v2, (DeviceId device))                               \
  X(contextReset, cuDevicePrimaryCtxReset_v2, (DeviceId device))                                   \
  X(contextPush, cuCtxPushCurrent_v2, (Context context))                                           \
  X(contextPop, cuCtxPopCurrent_v2, (Context * context))                                           \
  X(moduleLoad, cuModuleLoadDataEx,                                                                \
    (Module * module, const void *image, unsigned count, int *options, void **values))             \
  X(moduleFunction, cuModuleGetFunction, (Kernel * kernel, Module module, const char *name))       \
  X(functionSetAttribute, cuFuncSetAttribute, (Kernel kernel, int attribute, int value))           \
  X(launch, cuLaunchKernel,                                                                        \
    (Kernel kernel, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,               \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void **arguments,      \
     void **extra))                                                                                \
  X(allocate, cuMemAlloc_v2, (DevicePointer * pointer, size_t bytes))                              \
  X(release, cuMemFree_v2, (DevicePointer pointer))                                                \
  X(hostRegister, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))              \
  X(hostUnregister, cuMemHostUnregister, (void *memory))                                           \
  X(copyToDevice, cuMemcpyHtoDAsync_v2,                                                            \
    (DevicePointer to, const void *from, size_t bytes, Stream stream))                             \
  X(copyToHost, cuMemcpyDtoHAsync_v2, (void *to, DevicePointer from, size_t bytes, Stream stream)) \
  X(copy2D, cuMemcpy2DAsync_v2, (const Copy2D *copy, Stream stream))                               \
  X(fill, cuMemsetD8Async, (DevicePointer to, unsigned char value, size_t bytes, Stream stream))   \
  X(streamCreate, cuStreamCreate, (Stream * stream, unsigned flags))                               \
  X(streamCapture, cuStreamIsCapturing, (Stream stream, int *status))                              \
  X(streamDestroy, cuStreamDestroy_v2, (Stream stream))                                            \
  X(streamSynchronize, cuStreamSynchronize, (Stream stream))                                       \
  X(eventCreate, cuEventCreate, (Event * event, unsigned flags))                                   \
  X(eventDestroy, cuEventDestroy_v2, (Event event))                                                \
  X(eventRecord, cuEventRecord, (Event event, Stream stream))                                      \
  X(eventSynchronize, cuEventSynchronize, (Event event))                                           \
  X(eventElapsed, cuEventElapsedTime, (float *milliseconds, Event begin, Event end))               \
  X(errorName, cuGetErrorName, (Result error, const char **text))                                  \
  X(errorText, cuGetErrorString, (Result error, const char **text))

struct Driver {
#define PE_CUDA_MEMBER(name, symbol, arguments) Result(*name) arguments = nullptr;
  PE_CUDA_FUNCTIONS(PE_CUDA_MEMBER)
#undef PE_CUDA_MEMBER
  int version = 0; // 12040 for CUDA 12.4
  /// Of drivers that execute PTX on the host, else null: returns the counts since the last call
  /// (the format is in runtime/device/ptx/PtxCounts.cpp), and counts from now on if `isCounting`.
  const char *(*takeCounts)(int isCounting) = nullptr;

  /// Opens and initializes the driver once per process: $PE_CUDA_DRIVER if set, else libcuda.so.1.
  /// "ptx" is libpe-ptx-cuda.so (runtime/device/ptx). Fails if there is no driver, it is older than
  /// CUDA 12.0, or there is no device.
  static Expected<const Driver *> open();
  /// Opens the driver of the gpu-emulator target, libpe-ptx-cuda.so, once per process.
  static Expected<const Driver *> openEmulator();

  /// Returns success, or an error with the operation (`doing`) and the driver's name and
  /// description of the error.
  Status check(Result result, const std::string &doing) const;
};

/// Returns "12.4" for 12040.
std::string versionText(int version);

/// The oldest driver that accepts the PTX that pe emits.
inline constexpr int kOldestDriver = 12000;

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_DRIVER_H
