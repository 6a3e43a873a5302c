//===- FakeDriver.cpp - A fake CUDA driver for tests ----------------------===//
#include "FakeDriver.h"
#include "runtime/device/cuda/Driver.h"

#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

using pe::test::FakeState;

namespace {

enum { kInvalidValue = 1, kOutOfMemory = 2, kInvalidPtx = 218, kNotFound = 500 };

struct FakeStream {
  std::vector<std::function<void()>> work;
};
struct FakeModule {
  std::string text;
  std::set<std::string> names;
};
struct FakeKernel {
  std::string name;
};
struct FakeEvent {
  double milliseconds = 0;
};

FakeState &state() {
  static FakeState *theState = new FakeState();
  return *theState;
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

#define ENTER                                                                                      \
  if (int error = enter(__func__))                                                                 \
    return error;

} // namespace

extern "C" {

FakeState *peFakeState() { return &state(); }

int cuInit(unsigned) { ENTER return 0; }
int cuDriverGetVersion(int *version) {
  ENTER *version = setting("version", 12040);
  return 0;
}
int cuDeviceGetCount(int *count) {
  ENTER *count = setting("devices", 1);
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  ENTER *device = ordinal;
  return 0;
}
int cuDeviceGetName(char *name, int bytes, int) {
  ENTER std::strncpy(name, "Imagined GPU", bytes);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  ENTER const int capability = setting("capability", 90);
  *value = attribute == 75   ? capability / 10
           : attribute == 76 ? capability % 10
           : attribute == 97 ? setting("shared", 232448)
                             : 4;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  ENTER *context = &state();
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { ENTER return 0; }
int cuCtxPushCurrent_v2(void *) { ENTER return 0; }
int cuCtxPopCurrent_v2(void **) { ENTER return 0; }
int cuModuleLoadDataEx(FakeModule **module, const void *image, unsigned count, int *options,
                       void **values) {
  ENTER auto text = std::string(static_cast<const char *>(image));
  if (text.find(".version") == std::string::npos) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        std::strcpy(static_cast<char *>(values[i]), "expected .version");
    return kInvalidPtx;
  }
  auto *loaded = new FakeModule{text, {}};
  for (size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
    at += std::strlen(".entry ");
    loaded->names.insert(text.substr(at, text.find('(', at) - at));
  }
  *module = loaded;
  return 0;
}
int cuModuleUnload(FakeModule *module) {
  ENTER delete module;
  return 0;
}
int cuModuleGetFunction(FakeKernel **kernel, FakeModule *module, const char *name) {
  ENTER if (!module->names.contains(name)) return kNotFound;
  *kernel = new FakeKernel{name}; // never freed
  return 0;
}
int cuFuncSetAttribute(FakeKernel *kernel, int, int value) {
  ENTER state().reserved[kernel -> name] = value;
  return 0;
}
int cuLaunchKernel(FakeKernel *kernel, unsigned gridX, unsigned, unsigned, unsigned blockX,
                   unsigned, unsigned, unsigned sharedBytes, FakeStream *stream, void **arguments,
                   void **) {
  ENTER if (gridX == 0) return kInvalidValue;
  if (state().launcher)
    stream->work.push_back(state().launcher(kernel->name, gridX, blockX, sharedBytes, arguments));
  return 0;
}
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
  ENTER void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory)
    return kOutOfMemory;
  std::memset(memory, 0xFF, bytes); // device memory is not zeroed
  *pointer = reinterpret_cast<uint64_t>(memory);
  state().allocations[*pointer] = bytes;
  return 0;
}
int cuMemFree_v2(uint64_t pointer) {
  ENTER if (!state().allocations.erase(pointer)) return kInvalidValue;
  std::free(reinterpret_cast<void *>(pointer));
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, FakeStream *stream) {
  ENTER stream->work.push_back([=] { std::memcpy(reinterpret_cast<void *>(to), from, bytes); });
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, FakeStream *stream) {
  ENTER stream->work.push_back([=] { std::memcpy(to, reinterpret_cast<void *>(from), bytes); });
  return 0;
}
int cuMemcpy2DAsync_v2(const pe::cuda::Copy2D *copy, FakeStream *stream) {
  ENTER if (copy->widthInBytes > copy->to.pitch || copy->widthInBytes > copy->from.pitch ||
            copy->to.memoryType != 2 || copy->from.memoryType != 2) return kInvalidValue;
  stream->work.push_back([one = *copy] {
    for (size_t y = 0; y < one.height; ++y)
      std::memcpy(reinterpret_cast<char *>(one.to.device) + y * one.to.pitch,
                  reinterpret_cast<const char *>(one.from.device) + y * one.from.pitch,
                  one.widthInBytes);
  });
  return 0;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, FakeStream *stream) {
  ENTER stream->work.push_back([=] { std::memset(reinterpret_cast<void *>(to), value, bytes); });
  return 0;
}
int cuStreamCreate(FakeStream **stream, unsigned) {
  ENTER *stream = new FakeStream();
  return 0;
}
int cuStreamDestroy_v2(FakeStream *stream) {
  ENTER delete stream;
  return 0;
}
int cuStreamSynchronize(FakeStream *stream) {
  ENTER for (auto &work : stream->work) work();
  stream->work.clear();
  return 0;
}
int cuEventCreate(FakeEvent **event, unsigned) {
  ENTER *event = new FakeEvent();
  return 0;
}
int cuEventDestroy_v2(FakeEvent *event) {
  ENTER delete event;
  return 0;
}
int cuEventRecord(FakeEvent *event, FakeStream *) {
  ENTER static double clock = 0;
  event->milliseconds = clock += 1.5;
  return 0;
}
int cuEventSynchronize(FakeEvent *) { ENTER return 0; }
int cuEventElapsedTime(float *milliseconds, FakeEvent *begin, FakeEvent *end) {
  ENTER *milliseconds = static_cast<float>(end->milliseconds - begin->milliseconds);
  return 0;
}
int cuGetErrorName(int error, const char **text) {
  *text = error == kOutOfMemory  ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == kInvalidPtx ? "CUDA_ERROR_INVALID_PTX"
                                 : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int error, const char **text) {
  *text = error == kOutOfMemory ? "out of memory" : "an imagined error";
  return 0;
}

} // extern "C"
