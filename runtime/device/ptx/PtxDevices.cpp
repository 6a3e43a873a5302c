//===- PtxDevices.cpp - Devices, contexts and modules ---------------------===//

#include "runtime/device/ptx/PtxState.h"

#include "runtime/plan/Machine.h"

#include <cstring>

using namespace pe;
using namespace pe::cuda;
using namespace pe::cuda::host;

extern "C" {

Result cuInit(unsigned) {
  const Lock lock(machine().mutex);
  return readSettings();
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
  if (!isListed && !plan::findChip(chip))
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
  return readSettings();
}
Result cuCtxPushCurrent_v2(Context context) {
  contexts().push_back(reinterpret_cast<DeviceState *>(context));
  return kSuccess;
}
Result cuCtxPopCurrent_v2(Context *context) {
  if (contexts().empty())
    return kInvalidContext;
  *context = reinterpret_cast<Context>(contexts().back());
  contexts().pop_back();
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
