//===- PtxDriver.cpp - The functions of libcuda on the PTX machine --------===//
//
// libpe-ptx-cuda.so defines the functions of libcuda that pe uses. Its one device executes PTX on
// the host (runtime/ptx). Device memory is host memory. The work of a stream runs in order when the
// stream is synchronized, so that code that relies on it earlier fails; the null stream runs
// immediately. A fault of a kernel is the error of the next synchronization, and its description is
// the text of the error.
//
// $PE_PTX sets the device and the schedule: "chip=80,seed=7,ctas=4,limit=1000000".
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/Driver.h"
#include "runtime/ptx/Machine.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>

namespace pe::cuda {
namespace {

enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidDevice = 101,
  kInvalidPtx = 218,
  kNotFound = 500,
  kLaunchFailed = 719
};

/// The settings of $PE_PTX.
struct Settings {
  uint64_t chip = 80, seed = 1, limit = 0, version = 13000;
  uint64_t ctas = 0; // 0: chosen by the seed
};

/// Reads "chip=80,seed=7". Returns the problem, or an empty string.
std::string readSettings(std::string_view text, Settings &settings) {
  const std::pair<std::string_view, uint64_t *> known[] = {{"chip", &settings.chip},
                                                           {"seed", &settings.seed},
                                                           {"ctas", &settings.ctas},
                                                           {"limit", &settings.limit},
                                                           {"version", &settings.version}};
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    const auto *setting = std::ranges::find(known, part.substr(0, equals),
                                            [](const auto &each) { return each.first; });
    const bool isKnown = setting != std::end(known);
    const char *end = value.data() + value.size();
    if (!isKnown || value.empty() ||
        std::from_chars(value.data(), end, *setting->second).ptr != end)
      return "PE_PTX: expected chip, seed, ctas, limit or version with a number, such as "
             "chip=80,seed=7; found '" +
             std::string(part) + "'";
  }
  return "";
}

struct StreamState {
  std::vector<std::function<Result()>> work;
};
struct EventState {
  std::chrono::steady_clock::time_point time;
};
struct KernelState {
  ptx::LoadedModule *module;
  const ptx::Kernel *kernel;
  unsigned dynamicShared = 0;
};
struct ModuleState {
  std::unique_ptr<ptx::LoadedModule> loaded;
  std::vector<std::unique_ptr<KernelState>> kernels;
};

/// The device. Calls of threads take turns.
struct Device {
  std::recursive_mutex mutex;
  ptx::Memory memory;
  Settings settings;
  std::string fault; // describes wrong settings, or the launch that failed
  Result failure = kSuccess;
  uint64_t launches = 0;
};
Device &device() {
  static Device *theDevice = new Device(); // outlives users in other static objects
  return *theDevice;
}
using Lock = std::lock_guard<std::recursive_mutex>;

template <typename State, typename Tag> State *stateOf(Tag *handle) {
  return reinterpret_cast<State *>(handle);
}

} // namespace

//===----------------------------------------------------------------------===//
// Device and modules
//===----------------------------------------------------------------------===//

extern "C" {

Result cuInit(unsigned) {
  const char *text = std::getenv("PE_PTX");
  device().fault = readSettings(text ? text : "", device().settings);
  return device().fault.empty() ? kSuccess : kInvalidValue;
}
Result cuDriverGetVersion(int *version) {
  *version = int(device().settings.version);
  return kSuccess;
}
Result cuDeviceGetCount(int *count) {
  *count = 1;
  return kSuccess;
}
Result cuDeviceGet(DeviceId *id, int ordinal) {
  *id = ordinal;
  return ordinal == 0 ? kSuccess : kInvalidDevice;
}
Result cuDeviceGetName(char *name, int bytes, DeviceId) {
  std::strncpy(name, "PTX on the host", size_t(bytes));
  return kSuccess;
}
Result cuDeviceGetAttribute(int *value, int attribute, DeviceId) {
  const int chip = int(device().settings.chip);
  switch (attribute) {
  case kComputeMajor:
    *value = chip / 10;
    break;
  case kComputeMinor:
    *value = chip % 10;
    break;
  case kSharedPerBlockOptin:
    *value = chip == 80 ? 166912 : chip < 90 || chip >= 120 ? 101376 : 232448;
    break;
  default:
    *value = int(ptx::Limits().multiprocessors);
    break;
  }
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context *context, DeviceId) {
  *context = reinterpret_cast<Context>(&device());
  return kSuccess;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceId) { return kSuccess; }
Result cuCtxPushCurrent_v2(Context) { return kSuccess; }
Result cuCtxPopCurrent_v2(Context *) { return kSuccess; }

Result cuModuleLoadDataEx(Module *module, const void *image, unsigned count, int *options,
                          void **values) {
  const Lock lock(device().mutex);
  auto loaded =
      ptx::LoadedModule::load(static_cast<const char *>(image), "kernel.ptx", device().memory);
  if (!loaded) {
    const std::string text = loaded.error().render("ptx");
    size_t bytes = 0;
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kErrorLogBytes)
        bytes = reinterpret_cast<size_t>(values[i]);
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kErrorLog && bytes > 0) {
        std::strncpy(static_cast<char *>(values[i]), text.c_str(), bytes - 1);
        static_cast<char *>(values[i])[bytes - 1] = 0;
      }
    return kInvalidPtx;
  }
  auto *state = new ModuleState{*std::move(loaded), {}};
  *module = reinterpret_cast<Module>(state);
  return kSuccess;
}
Result cuModuleUnload(Module module) {
  const Lock lock(device().mutex);
  delete stateOf<ModuleState>(module);
  return kSuccess;
}
Result cuModuleGetFunction(Kernel *kernel, Module module, const char *name) {
  ModuleState *state = stateOf<ModuleState>(module);
  const ptx::Kernel *found = state->loaded->kernel(name);
  if (!found)
    return kNotFound;
  state->kernels.push_back(std::make_unique<KernelState>(state->loaded.get(), found));
  *kernel = reinterpret_cast<Kernel>(state->kernels.back().get());
  return kSuccess;
}
Result cuFuncSetAttribute(Kernel kernel, int attribute, int value) {
  if (attribute == kMaxDynamicShared)
    stateOf<KernelState>(kernel)->dynamicShared = unsigned(value);
  return kSuccess;
}

} // extern "C"

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

namespace {

/// Runs work now, or when the stream is synchronized.
Result submit(Stream stream, std::function<Result()> work) {
  const Lock lock(device().mutex);
  if (device().failure != kSuccess)
    return device().failure;
  if (!stream)
    return work();
  stateOf<StreamState>(stream)->work.push_back(std::move(work));
  return kSuccess;
}

Result runKernel(const KernelState &kernel, const ptx::Launch &launch) {
  ptx::Limits limits;
  int shared = 0;
  cuDeviceGetAttribute(&shared, kSharedPerBlockOptin, 0);
  limits.sharedPerBlock = uint32_t(shared);
  Status status = kernel.module->run(kernel.kernel->function->name, launch, limits);
  if (status)
    return kSuccess;
  device().fault = status.error().render("ptx");
  // As on a device, nothing runs in this context after a fault.
  return device().failure = kLaunchFailed;
}

} // namespace

extern "C" {

Result cuLaunchKernel(Kernel kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream stream, void **arguments, void **) {
  const KernelState &state = *stateOf<KernelState>(kernel);
  // Above 48 KiB only what functionSetAttribute has allowed.
  if (sharedBytes > std::max(48u << 10, state.dynamicShared))
    return kInvalidValue;
  ptx::Launch call;
  call.grid = {gridX, gridY, gridZ};
  call.block = {blockX, blockY, blockZ};
  call.dynamicShared = sharedBytes;
  const auto &parameters = state.kernel->function->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto *from = static_cast<const std::byte *>(arguments[i]);
    call.parameters.emplace_back(from, from + parameters[i].bytes);
  }
  call.schedule = ptx::Schedule::fromSeed(device().settings.seed + device().launches++);
  if (device().settings.ctas)
    call.schedule.ctasInFlight = unsigned(device().settings.ctas);
  call.limit = device().settings.limit;
  return submit(stream, [&state, call = std::move(call)] { return runKernel(state, call); });
}

Result cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  const Lock lock(device().mutex);
  *pointer = device().memory.allocate(bytes);
  return *pointer ? kSuccess : kOutOfMemory;
}
Result cuMemFree_v2(DevicePointer pointer) {
  const Lock lock(device().mutex);
  return device().memory.release(pointer) ? kSuccess : kInvalidValue;
}
/// Returns true if the range is within an allocation.
static bool isAllocated(DevicePointer at, size_t bytes) {
  const ptx::Allocation *found = device().memory.find(at);
  return found && found->contains(at, bytes);
}
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes, Stream stream) {
  return submit(stream, [=]() -> Result {
    if (!isAllocated(to, bytes))
      return kInvalidValue;
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return kSuccess;
  });
}
Result cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes, Stream stream) {
  return submit(stream, [=]() -> Result {
    if (!isAllocated(from, bytes))
      return kInvalidValue;
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return kSuccess;
  });
}
Result cuMemcpy2DAsync_v2(const Copy2D *copy, Stream stream) {
  return submit(stream, [copy = *copy]() -> Result {
    for (size_t row = 0; row < copy.height; ++row) {
      auto at = [&](const Copy2D::Side &side) {
        return side.device + (side.y + row) * side.pitch + side.xInBytes;
      };
      if (!isAllocated(at(copy.to), copy.widthInBytes) ||
          !isAllocated(at(copy.from), copy.widthInBytes))
        return kInvalidValue;
      std::memcpy(reinterpret_cast<void *>(at(copy.to)),
                  reinterpret_cast<const void *>(at(copy.from)), copy.widthInBytes);
    }
    return kSuccess;
  });
}
Result cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes, Stream stream) {
  return submit(stream, [=]() -> Result {
    if (!isAllocated(to, bytes))
      return kInvalidValue;
    std::memset(reinterpret_cast<void *>(to), value, bytes);
    return kSuccess;
  });
}

Result cuStreamCreate(Stream *stream, unsigned) {
  *stream = reinterpret_cast<Stream>(new StreamState());
  return kSuccess;
}
Result cuStreamSynchronize(Stream stream) {
  const Lock lock(device().mutex);
  if (!stream)
    return device().failure;
  std::vector<std::function<Result()>> work;
  std::swap(work, stateOf<StreamState>(stream)->work);
  for (const auto &each : work) {
    if (device().failure != kSuccess)
      return device().failure;
    if (const Result result = each(); result != kSuccess)
      return result;
  }
  return kSuccess;
}
Result cuStreamDestroy_v2(Stream stream) {
  delete stateOf<StreamState>(stream);
  return kSuccess;
}
Result cuEventCreate(Event *event, unsigned) {
  *event = reinterpret_cast<Event>(new EventState());
  return kSuccess;
}
Result cuEventDestroy_v2(Event event) {
  delete stateOf<EventState>(event);
  return kSuccess;
}
Result cuEventRecord(Event event, Stream stream) {
  return submit(stream, [event]() -> Result {
    stateOf<EventState>(event)->time = std::chrono::steady_clock::now();
    return kSuccess;
  });
}
Result cuEventSynchronize(Event) { return kSuccess; }
Result cuEventElapsedTime(float *milliseconds, Event begin, Event end) {
  *milliseconds = std::chrono::duration<float, std::milli>(stateOf<EventState>(end)->time -
                                                           stateOf<EventState>(begin)->time)
                      .count();
  return kSuccess;
}

Result cuGetErrorName(Result error, const char **text) {
  switch (error) {
  case kInvalidValue:
    *text = "CUDA_ERROR_INVALID_VALUE";
    break;
  case kOutOfMemory:
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case kInvalidDevice:
    *text = "CUDA_ERROR_INVALID_DEVICE";
    break;
  case kInvalidPtx:
    *text = "CUDA_ERROR_INVALID_PTX";
    break;
  case kNotFound:
    *text = "CUDA_ERROR_NOT_FOUND";
    break;
  case kLaunchFailed:
    *text = "CUDA_ERROR_LAUNCH_FAILED";
    break;
  default:
    *text = "CUDA_ERROR_UNKNOWN";
    break;
  }
  return kSuccess;
}
Result cuGetErrorString(Result error, const char **text) {
  const bool hasFault = error == kLaunchFailed || error == kInvalidValue;
  *text = hasFault && !device().fault.empty() ? device().fault.c_str() : nullptr;
  return kSuccess;
}

} // extern "C"

} // namespace pe::cuda
