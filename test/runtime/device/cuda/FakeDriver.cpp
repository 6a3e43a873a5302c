//===- FakeDriver.cpp - A CUDA driver that tests observe ------------------===//
#include "FakeDriver.h"
#include "runtime/device/cuda/Driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace pe::cuda;
using pe::test::FakeState;

namespace {

constexpr Result kOutOfMemory = 2;

FakeState &state() {
  static FakeState *theState = new FakeState();
  return *theState;
}

/// The driver that executes the calls.
const Driver &real() {
  static const Driver *driver = [] {
    void *library = dlopen(PE_PTX_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "cannot open %s: %s\n", PE_PTX_DRIVER, dlerror());
      std::abort();
    }
    auto *loaded = new Driver();
#define FIND(name, symbol, arguments)                                                              \
  loaded->name = reinterpret_cast<decltype(loaded->name)>(dlsym(library, #symbol));
    PE_CUDA_FUNCTIONS(FIND)
#undef FIND
    return loaded;
  }();
  return *driver;
}

/// Returns a setting of $PE_FAKE_CUDA.
int setting(const char *name, int otherwise) {
  const char *text = std::getenv("PE_FAKE_CUDA");
  const std::string all = text ? std::string(",") + text : "";
  const size_t at = all.find(std::string(",") + name + "=");
  return at == std::string::npos ? otherwise : std::atoi(all.c_str() + at + std::strlen(name) + 2);
}

/// Counts the call and returns the error that it must fail with, or 0.
int enter(const char *function) {
  ++state().calls[function];
  if (auto found = state().failures.find(function); found != state().failures.end())
    return found->second;
  const char *text = std::getenv("PE_FAKE_CUDA");
  const std::string pattern = std::string("fail=") + function + ":";
  const char *at = text ? std::strstr(text, pattern.c_str()) : nullptr;
  return at ? std::atoi(at + pattern.size()) : 0;
}

std::map<Kernel, pe::test::FakeLaunch> kernels;
std::map<Event, float> times;

#define ENTER                                                                                      \
  if (int error = enter(__func__))                                                                 \
    return error;

} // namespace

extern "C" {

FakeState *peFakeState() { return &state(); }

//===- Functions that only pass on ------------------------------------------------------------===//

#define PASS(name, symbol, parameters, arguments)                                                  \
  Result symbol parameters { ENTER return real().name arguments; }

PASS(init, cuInit, (unsigned flags), (flags))
PASS(deviceGet, cuDeviceGet, (DeviceId * device, int ordinal), (device, ordinal))
PASS(contextRelease, cuDevicePrimaryCtxRelease_v2, (DeviceId device), (device))
PASS(contextReset, cuDevicePrimaryCtxReset_v2, (DeviceId device), (device))
PASS(contextPush, cuCtxPushCurrent_v2, (Context context), (context))
PASS(contextPop, cuCtxPopCurrent_v2, (Context * context), (context))
PASS(moduleLoad, cuModuleLoadDataEx,
     (Module * module, const void *image, unsigned count, int *options, void **values),
     (module, image, count, options, values))
PASS(hostRegister, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags),
     (memory, bytes, flags))
PASS(hostUnregister, cuMemHostUnregister, (void *memory), (memory))
PASS(copyToDevice, cuMemcpyHtoDAsync_v2,
     (DevicePointer to, const void *from, size_t bytes, Stream stream), (to, from, bytes, stream))
PASS(copyToHost, cuMemcpyDtoHAsync_v2, (void *to, DevicePointer from, size_t bytes, Stream stream),
     (to, from, bytes, stream))
PASS(copy2D, cuMemcpy2DAsync_v2, (const Copy2D *copy, Stream stream), (copy, stream))
PASS(fill, cuMemsetD8Async, (DevicePointer to, unsigned char value, size_t bytes, Stream stream),
     (to, value, bytes, stream))
PASS(streamCreate, cuStreamCreate, (Stream * stream, unsigned flags), (stream, flags))
PASS(streamDestroy, cuStreamDestroy_v2, (Stream stream), (stream))
PASS(streamSynchronize, cuStreamSynchronize, (Stream stream), (stream))
PASS(eventCreate, cuEventCreate, (Event * event, unsigned flags), (event, flags))
PASS(eventDestroy, cuEventDestroy_v2, (Event event), (event))
PASS(eventSynchronize, cuEventSynchronize, (Event event), (event))

//===- Functions that this driver changes or records ------------------------------------------===//

Result cuDriverGetVersion(int *version) {
  ENTER *version = setting("version", 12040);
  return 0;
}
Result cuDeviceGetCount(int *count) {
  ENTER *count = setting("devices", 1);
  return 0;
}
Result cuDeviceGetName(char *name, int bytes, DeviceId) {
  ENTER std::strncpy(name, "Imagined GPU", bytes);
  return 0;
}
Result cuDeviceGetAttribute(int *value, int attribute, DeviceId) {
  ENTER const int capability = setting("capability", 90);
  *value = attribute == kComputeMajor          ? capability / 10
           : attribute == kComputeMinor        ? capability % 10
           : attribute == kSharedPerBlockOptin ? setting("shared", 232448)
                                               : 4;
  return 0;
}
Result cuDevicePrimaryCtxRetain(Context *context, DeviceId device) {
  ENTER state().retained.push_back(device);
  return real().contextRetain(context, device);
}
Result cuModuleGetFunction(Kernel *kernel, Module module, const char *name) {
  ENTER if (Result error = real().moduleFunction(kernel, module, name)) return error;
  kernels[*kernel].kernel = name;
  return 0;
}
Result cuFuncSetAttribute(Kernel kernel, int attribute, int value) {
  ENTER kernels[kernel].reservedBytes = value;
  return real().functionSetAttribute(kernel, attribute, value);
}
Result cuLaunchKernel(Kernel kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream stream, void **arguments, void **extra) {
  ENTER pe::test::FakeLaunch launch = kernels[kernel];
  launch.grid = gridX, launch.threads = blockX, launch.sharedBytes = sharedBytes;
  state().launches.push_back(launch);
  return real().launch(kernel, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream,
                       arguments, extra);
}
Result cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  ENTER if (Result error = real().allocate(pointer, bytes)) return error;
  state().allocations.insert(*pointer);
  return 0;
}
Result cuMemFree_v2(DevicePointer pointer) {
  ENTER state().allocations.erase(pointer);
  return real().release(pointer);
}
Result cuStreamIsCapturing(Stream, int *status) {
  ENTER *status = state().isCapturing;
  return 0;
}
Result cuEventRecord(Event event, Stream) {
  ENTER static float clock = 0;
  times[event] = clock += 1.5f;
  return 0;
}
Result cuEventElapsedTime(float *milliseconds, Event begin, Event end) {
  ENTER *milliseconds = times[end] - times[begin];
  return 0;
}
Result cuGetErrorName(Result error, const char **text) {
  if (error != kOutOfMemory)
    return real().errorName(error, text);
  *text = "CUDA_ERROR_OUT_OF_MEMORY";
  return 0;
}
Result cuGetErrorString(Result error, const char **text) {
  if (error != kOutOfMemory)
    return real().errorText(error, text);
  *text = "out of memory";
  return 0;
}

} // extern "C"
