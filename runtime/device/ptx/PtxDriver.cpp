//===- PtxDriver.cpp - The functions of libcuda on the PTX machine --------===//
//
// libpe-ptx-cuda.so defines the functions of libcuda that pe uses. Its devices execute PTX on the
// host (runtime/ptx). Device memory is host memory. The work of a stream runs in order when the
// stream is synchronized, so that code that relies on it earlier fails; the null stream runs
// immediately. A fault of a kernel is the error of the next synchronization, and its description is
// the text of the error; nothing runs afterwards until the context is reset.
//
// $PE_PTX sets the devices and the schedule: "chip=80,seed=7,ctas=4,limit=1000000". Each chip adds
// a device; without one there is one of sm_80. cuDeviceGet also takes the number of any chip, so
// that the target gpu-emulator finds a device for its kernels.
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
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kNotFound = 500,
  kLaunchFailed = 719
};

/// The settings of $PE_PTX.
struct Settings {
  std::vector<uint64_t> chips;
  uint64_t seed = 1, limit = 0, version = 13000;
  uint64_t ctas = 0; // 0: chosen by the seed
};

/// Reads "chip=80,seed=7". Returns the problem, or an empty string.
std::string readSettings(std::string_view text, Settings &settings) {
  settings = Settings();
  uint64_t chip = 0;
  const std::pair<std::string_view, uint64_t *> known[] = {{"chip", &chip},
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
    if (setting->second == &chip)
      settings.chips.push_back(chip);
  }
  if (settings.chips.empty())
    settings.chips = {80};
  return "";
}

struct DeviceState;
struct StreamState {
  DeviceState *device;
  std::vector<std::function<Result()>> work;
};
struct EventState {
  std::chrono::steady_clock::time_point time;
};
struct KernelState {
  DeviceState *device;
  ptx::LoadedModule *module;
  const ptx::Kernel *kernel;
  unsigned dynamicShared = 0;
};
struct ModuleState {
  DeviceState *device;
  std::string text;
  std::unique_ptr<ptx::LoadedModule> loaded;
  std::vector<std::unique_ptr<KernelState>> kernels;
};

/// A device and its context.
struct DeviceState {
  int chip = 80;
  Result failure = kSuccess;
};

/// All devices. They share memory. Calls of threads take turns.
struct Machine {
  std::recursive_mutex mutex;
  ptx::Memory memory;
  Settings settings;
  std::map<DeviceId, DeviceState> devices; // those that were used
  std::string fault;                       // describes wrong settings, or the launch that failed
  uint64_t launches = 0;
  bool isCounting = false;
  std::vector<ModuleState *> modules; // never unloaded
  std::string counts;                 // as returned last
};
Machine &machine() {
  static Machine *theMachine = new Machine(); // outlives users in other static objects
  return *theMachine;
}
using Lock = std::lock_guard<std::recursive_mutex>;

/// The contexts that the thread has pushed, the current one last.
thread_local std::vector<DeviceState *> contexts;
DeviceState *current() { return contexts.empty() ? nullptr : contexts.back(); }

template <typename State, typename Tag> State *stateOf(Tag *handle) {
  return reinterpret_cast<State *>(handle);
}

} // namespace

//===----------------------------------------------------------------------===//
// Device and modules
//===----------------------------------------------------------------------===//

namespace {

constexpr int kChips[] = {80, 86, 87, 89, 90, 100, 103, 120};

int sharedPerBlock(int chip) {
  return chip == 80 ? 166912 : chip < 90 || chip >= 120 ? 101376 : 232448;
}

} // namespace

extern "C" {

Result cuInit(unsigned) {
  const Lock lock(machine().mutex);
  const char *text = std::getenv("PE_PTX");
  machine().fault = readSettings(text ? text : "", machine().settings);
  return machine().fault.empty() ? kSuccess : kInvalidValue;
}
Result cuDriverGetVersion(int *version) {
  *version = int(machine().settings.version);
  return kSuccess;
}
Result cuDeviceGetCount(int *count) {
  *count = int(machine().settings.chips.size());
  return kSuccess;
}
Result cuDeviceGet(DeviceId *id, int ordinal) {
  const Lock lock(machine().mutex);
  const auto &chips = machine().settings.chips;
  const bool isListed = ordinal >= 0 && size_t(ordinal) < chips.size();
  const int chip = isListed ? int(chips[size_t(ordinal)]) : ordinal;
  if (!isListed && std::ranges::find(kChips, chip) == std::end(kChips))
    return kInvalidDevice;
  *id = ordinal;
  machine().devices[ordinal].chip = chip;
  return kSuccess;
}
Result cuDeviceGetName(char *name, int bytes, DeviceId) {
  std::strncpy(name, "PTX on the host", size_t(bytes));
  return kSuccess;
}
Result cuDeviceGetAttribute(int *value, int attribute, DeviceId id) {
  const Lock lock(machine().mutex);
  const int chip = machine().devices[id].chip;
  switch (attribute) {
  case kComputeMajor:
    *value = chip / 10;
    break;
  case kComputeMinor:
    *value = chip % 10;
    break;
  case kSharedPerBlockOptin:
    *value = sharedPerBlock(chip);
    break;
  default:
    *value = int(ptx::Limits().multiprocessors);
    break;
  }
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context *context, DeviceId id) {
  const Lock lock(machine().mutex);
  *context = reinterpret_cast<Context>(&machine().devices[id]);
  return kSuccess;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceId) { return kSuccess; }
/// Forgets a fault and reads $PE_PTX again. Modules and memory stay.
Result cuDevicePrimaryCtxReset_v2(DeviceId id) {
  const Lock lock(machine().mutex);
  machine().devices[id].failure = kSuccess;
  machine().launches = 0;
  return cuInit(0);
}
Result cuCtxPushCurrent_v2(Context context) {
  contexts.push_back(reinterpret_cast<DeviceState *>(context));
  return kSuccess;
}
Result cuCtxPopCurrent_v2(Context *context) {
  if (contexts.empty())
    return kInvalidContext;
  *context = reinterpret_cast<Context>(contexts.back());
  contexts.pop_back();
  return kSuccess;
}

Result cuModuleLoadDataEx(Module *module, const void *image, unsigned count, int *options,
                          void **values) {
  const Lock lock(machine().mutex);
  if (!current())
    return kInvalidContext;
  auto loaded =
      ptx::LoadedModule::load(static_cast<const char *>(image), "kernel.ptx", machine().memory);
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
  auto *state =
      new ModuleState{current(), static_cast<const char *>(image), *std::move(loaded), {}};
  machine().modules.push_back(state);
  *module = reinterpret_cast<Module>(state);
  return kSuccess;
}
Result cuModuleGetFunction(Kernel *kernel, Module module, const char *name) {
  ModuleState *state = stateOf<ModuleState>(module);
  const ptx::Kernel *found = state->loaded->kernel(name);
  if (!found)
    return kNotFound;
  state->kernels.push_back(
      std::make_unique<KernelState>(state->device, state->loaded.get(), found));
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

/// Runs work in the current context now, or when the stream is synchronized.
Result submit(Stream stream, std::function<Result()> work) {
  const Lock lock(machine().mutex);
  if (!current())
    return kInvalidContext;
  if (current()->failure != kSuccess)
    return current()->failure;
  if (!stream)
    return work();
  StreamState &state = *stateOf<StreamState>(stream);
  if (state.device != current())
    return kInvalidContext;
  state.work.push_back(std::move(work));
  return kSuccess;
}

Result runKernel(const KernelState &kernel, const ptx::Launch &launch) {
  ptx::Limits limits;
  limits.sharedPerBlock = uint32_t(sharedPerBlock(kernel.device->chip));
  Status status = kernel.module->run(kernel.kernel->function->name, launch, limits);
  if (status)
    return kSuccess;
  machine().fault = status.error().render("ptx");
  // As on a device, nothing runs in this context after a fault.
  return kernel.device->failure = kLaunchFailed;
}

} // namespace

extern "C" {

Result cuLaunchKernel(Kernel kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream stream, void **arguments, void **) {
  const Lock lock(machine().mutex);
  const KernelState &state = *stateOf<KernelState>(kernel);
  if (state.device != current())
    return kInvalidContext;
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
  call.schedule = ptx::Schedule::fromSeed(machine().settings.seed + machine().launches++);
  if (machine().settings.ctas)
    call.schedule.ctasInFlight = unsigned(machine().settings.ctas);
  call.limit = machine().settings.limit;
  call.countsAccesses = machine().isCounting;
  return submit(stream, [&state, call = std::move(call)] { return runKernel(state, call); });
}

/// Returns a line per line of PTX that was executed since the last call: kernel or function, line,
/// executions, wavefronts of shared memory and the least number of them, sectors of global memory
/// and the least number of them, and the instruction, separated by tabs. Counts wavefronts and
/// sectors from now on if `isCounting`.
const char *pePtxTakeCounts(int isCounting) {
  const Lock lock(machine().mutex);
  machine().counts.clear();
  machine().isCounting = isCounting;
  for (ModuleState *module : machine().modules) {
    std::vector<std::string_view> lines;
    for (std::string_view rest = module->text; !rest.empty();) {
      lines.push_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(std::min(lines.back().size() + 1, rest.size()));
    }
    for (const ptx::LineCounts &line : module->loaded->takeCounts()) {
      const ptx::Function *function = nullptr; // the last one that begins before the line
      for (const ptx::Function &other : module->loaded->module().functions)
        if (other.line <= line.line && (!function || other.line > function->line))
          function = &other;
      machine().counts += function ? function->name : "?";
      for (const uint64_t count : {uint64_t(line.line), line.executions, line.wavefronts,
                                   line.leastWavefronts, line.sectors, line.leastSectors})
        machine().counts += "\t" + std::to_string(count);
      std::string source(size_t(line.line) <= lines.size() ? lines[size_t(line.line) - 1] : "");
      source.erase(0, source.find_first_not_of(" \t"));
      std::ranges::replace(source, '\t', ' ');
      machine().counts += "\t" + source + "\n";
    }
  }
  return machine().counts.c_str();
}

Result cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  const Lock lock(machine().mutex);
  *pointer = machine().memory.allocate(bytes);
  return *pointer ? kSuccess : kOutOfMemory;
}
Result cuMemFree_v2(DevicePointer pointer) {
  const Lock lock(machine().mutex);
  return machine().memory.release(pointer) ? kSuccess : kInvalidValue;
}
Result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned) {
  const Lock lock(machine().mutex);
  machine().memory.adopt(reinterpret_cast<uint64_t>(memory), bytes);
  return kSuccess;
}
Result cuMemHostUnregister(void *memory) {
  const Lock lock(machine().mutex);
  return machine().memory.release(reinterpret_cast<uint64_t>(memory)) ? kSuccess : kInvalidValue;
}
/// Returns true if the range is within an allocation.
static bool isAllocated(DevicePointer at, size_t bytes) {
  const ptx::Allocation *found = machine().memory.find(at);
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
  if (!current())
    return kInvalidContext;
  *stream = reinterpret_cast<Stream>(new StreamState{current(), {}});
  return kSuccess;
}
Result cuStreamSynchronize(Stream stream) {
  const Lock lock(machine().mutex);
  if (!stream)
    return current() ? current()->failure : kInvalidContext;
  StreamState &state = *stateOf<StreamState>(stream);
  std::vector<std::function<Result()>> work;
  std::swap(work, state.work);
  for (const auto &each : work) {
    if (state.device->failure != kSuccess)
      return state.device->failure;
    if (const Result result = each(); result != kSuccess)
      return result;
  }
  return kSuccess;
}
/// Graphs are not captured.
Result cuStreamIsCapturing(Stream, int *status) {
  *status = 0;
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
  case kInvalidContext:
    *text = "CUDA_ERROR_INVALID_CONTEXT";
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
  *text = hasFault && !machine().fault.empty() ? machine().fault.c_str() : nullptr;
  return kSuccess;
}

} // extern "C"

} // namespace pe::cuda
