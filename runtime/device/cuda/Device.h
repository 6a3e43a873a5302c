//===- Device.h - One GPU and a module on it --------------------*- C++ -*-===//

#ifndef PE_RUNTIME_DEVICE_CUDA_DEVICE_H
#define PE_RUNTIME_DEVICE_CUDA_DEVICE_H

#include "runtime/device/cuda/Driver.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <vector>

namespace pe::cuda {

/// A device with its primary context (shared with every other user of it in this process).
class Device {
public:
  static Expected<std::shared_ptr<const Device>> open(int ordinal = 0);
  ~Device();
  Device(const Device &) = delete;

  const Driver &driver;
  const DeviceId id;
  std::string name; // "NVIDIA H100 80GB HBM3"
  int computeMajor = 0, computeMinor = 0;
  int multiprocessors = 0, sharedPerBlock = 0;

  /// "sm_90".
  std::string chip() const { return "sm_" + std::to_string(computeMajor * 10 + computeMinor); }
  /// The newest chip that the compiler knows and this device runs: "sm_90" ..., from runtime/jit.
  std::string compilationChip() const;
  /// Whether PTX for `chip` ("sm_80", "sm_90a") runs here: chips are upward compatible, but for
  /// those with a letter, which run on themselves only.
  bool runs(const std::string &chip) const;

  /// Makes the context current until it ends.
  class Current {
  public:
    explicit Current(const Device &device) : device(device) {
      pushed = device.driver.contextPush(device.context) == 0;
    }
    ~Current() {
      Context previous;
      if (pushed)
        device.driver.contextPop(&previous);
    }

  private:
    const Device &device;
    bool pushed;
  };

private:
  friend class Current;
  Device(const Driver &driver, DeviceId id) : driver(driver), id(id) {}
  Context context = nullptr;
};

/// Memory of a device.
class DeviceMemory {
public:
  static Expected<DeviceMemory> allocate(std::shared_ptr<const Device> device, size_t bytes);
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory();

  DevicePointer pointer() const { return address; }

private:
  void swap(DeviceMemory &other) {
    std::swap(device, other.device);
    std::swap(address, other.address);
  }
  std::shared_ptr<const Device> device;
  DevicePointer address = 0;
};

/// The kernels of a plan, loaded from PTX.
class LoadedModule {
public:
  /// Errors: PTX that the driver refuses (with its log), a kernel that is missing, more shared
  /// memory than the device has.
  static Expected<std::shared_ptr<const LoadedModule>>
  load(std::shared_ptr<const Device> device, const std::string &ptx, const plan::Plan &plan);
  ~LoadedModule();
  LoadedModule(const LoadedModule &) = delete;

  const std::shared_ptr<const Device> device;
  std::vector<Kernel> kernels; // by stage

private:
  explicit LoadedModule(std::shared_ptr<const Device> device) : device(std::move(device)) {}
  Module module = nullptr;
};

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_DEVICE_H
