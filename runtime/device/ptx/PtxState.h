//===- PtxState.h - The state of libcuda on the PTX machine -----*- C++ -*-===//
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

#ifndef PE_RUNTIME_DEVICE_PTX_PTXSTATE_H
#define PE_RUNTIME_DEVICE_PTX_PTXSTATE_H

#include "runtime/device/cuda/Driver.h"
#include "runtime/ptx/LoadedModule.h"

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace pe::cuda::host {

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
Machine &machine();
using Lock = std::lock_guard<std::recursive_mutex>;

/// Reads $PE_PTX. On a mistake, returns an error code and describes it in Machine::fault.
Result readSettings();

/// The contexts that the thread has pushed, the current one last.
std::vector<DeviceState *> &contexts();
/// Returns the current one, or null.
DeviceState *current();

/// Returns the bytes of shared memory that a CTA may use.
int sharedPerBlock(int chip);

template <typename State, typename Tag> State *stateOf(Tag *handle) {
  return reinterpret_cast<State *>(handle);
}

} // namespace pe::cuda::host

#endif // PE_RUNTIME_DEVICE_PTX_PTXSTATE_H
