//===- Device.h - A GPU, its memory and its modules -------------*- C++ -*-===//

#ifndef PE_RUNTIME_DEVICE_CUDA_DEVICE_H
#define PE_RUNTIME_DEVICE_CUDA_DEVICE_H

#include "runtime/device/cuda/Driver.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <mutex>
#include <vector>

namespace pe::cuda {

/// A device and its primary context, which all users of the device in this process share. The
/// context is created when it is first made current: reading attributes takes no device memory.
class Device {
public:
  /// Opens a device of `driver`; null: of Driver::open().
  static Expected<std::shared_ptr<const Device>> open(int ordinal = 0,
                                                      const Driver *driver = nullptr);
  ~Device();
  Device(const Device &) = delete;

  const Driver &driver;
  const DeviceId id;
  std::string name; // "NVIDIA H100 80GB HBM3"
  int computeMajor = 0, computeMinor = 0;
  int multiprocessors = 0, sharedPerBlock = 0;

  /// Returns the architecture, for example "sm_90".
  std::string chip() const { return "sm_" + std::to_string(computeMajor * 10 + computeMinor); }
  /// Returns the newest architecture that the compiler supports (runtime/jit) and this device runs.
  std::string compilationChip() const;
  /// Returns true if PTX for `chip` ("sm_80", "sm_90a") runs on this device. Newer devices run PTX
  /// for older architectures, except those with a letter suffix, which require the same one.
  bool runs(const std::string &chip) const;

  /// Makes the context of a device current during its lifetime.
  class Current {
  public:
    explicit Current(const Device &device) : device(device), result(device.enter()) {}
    ~Current() {
      Context previous;
      if (result == 0)
        device.driver.contextPop(&previous);
    }
    /// Returns the error if the context could not be made current.
    Status status() const {
      return result ? device.driver.check(result, "entering the context of " + device.name)
                    : Status::success();
    }

  private:
    const Device &device;
    const Result result;
  };

private:
  friend class Current;
  Device(const Driver &driver, DeviceId id) : driver(driver), id(id) {}
  /// Makes the context current, and creates it first if necessary.
  Result enter() const;
  mutable std::mutex mutex;
  mutable Context context = nullptr;
};

/// An allocation on a device.
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

/// The kernels of a plan, loaded from PTX. The driver's module stays loaded until the process ends,
/// because kernels in flight and captured graphs use its code; the same PTX is loaded once.
class LoadedModule {
public:
  /// Loads the kernels. Fails if the driver is too old for the PTX or rejects it (the error
  /// contains its log), a kernel is missing, or a kernel needs more shared memory than the device
  /// has.
  static Expected<std::shared_ptr<const LoadedModule>>
  load(std::shared_ptr<const Device> device, const std::string &ptx, const plan::Plan &plan);
  const std::shared_ptr<const Device> device;
  std::vector<Kernel> kernels; // by stage

private:
  explicit LoadedModule(std::shared_ptr<const Device> device) : device(std::move(device)) {}
};

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_DEVICE_H
