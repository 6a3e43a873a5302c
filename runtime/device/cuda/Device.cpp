//===- Device.cpp - A GPU, its memory and its modules ---------------------===//

#include "runtime/device/cuda/Device.h"

#include <charconv>

namespace pe::cuda {

Expected<std::shared_ptr<const Device>> Device::open(int ordinal, const Driver *driver) {
  Expected<const Driver *> opened = driver ? Expected<const Driver *>(driver) : Driver::open();
  if (!opened)
    return opened.takeError();
  const Driver &d = **opened;
  DeviceId id = 0;
  if (Status s = d.check(d.deviceGet(&id, ordinal), "opening device " + std::to_string(ordinal));
      !s)
    return s.takeError();
  std::shared_ptr<Device> device(new Device(d, id));
  char name[256] = {};
  Status status = d.check(d.deviceName(name, sizeof(name), id), "reading the name of the device");
  device->name = name;
  for (auto [field, attribute] : {std::pair{&device->computeMajor, kComputeMajor},
                                  {&device->computeMinor, kComputeMinor},
                                  {&device->multiprocessors, kMultiprocessors},
                                  {&device->sharedPerBlock, kSharedPerBlockOptin}})
    if (status)
      status = d.check(d.deviceAttribute(field, attribute, id), "reading device attributes");
  if (status)
    status = d.check(d.contextRetain(&device->context, id), "starting the device");
  if (!status)
    return status.takeError();
  if (device->computeMajor < 8)
    return makeError("expected a GPU of compute capability 8.0 or newer, found ", device->name,
                     " of ", device->computeMajor, ".", device->computeMinor)
        .of(ErrorKind::Device);
  return std::shared_ptr<const Device>(std::move(device));
}

Device::~Device() {
  if (context)
    driver.contextRelease(id);
}

std::string Device::compilationChip() const {
  std::string best = "sm_80";
  for (const char *chip : {"sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"})
    if (runs(chip))
      best = chip;
  return best;
}

bool Device::runs(const std::string &chip) const {
  if (!chip.starts_with("sm_"))
    return false;
  int number = 0;
  const char *end = chip.data() + chip.size();
  const auto [rest, error] = std::from_chars(chip.data() + 3, end, number);
  const int own = computeMajor * 10 + computeMinor;
  if (error != std::errc())
    return false;
  return rest == end ? number <= own : number == own;
}

Expected<DeviceMemory> DeviceMemory::allocate(std::shared_ptr<const Device> device, size_t bytes) {
  DeviceMemory memory;
  Device::Current current(*device);
  if (Status s = current.status(); !s)
    return s.takeError();
  if (Status s = device->driver.check(
          device->driver.allocate(&memory.address, std::max<size_t>(bytes, 16)),
          "allocating " + std::to_string(bytes) + " bytes");
      !s)
    return s.takeError();
  memory.device = std::move(device);
  return memory;
}

DeviceMemory::~DeviceMemory() {
  if (!device)
    return;
  Device::Current current(*device);
  device->driver.release(address);
}

Expected<std::shared_ptr<const LoadedModule>>
LoadedModule::load(std::shared_ptr<const Device> device, const std::string &ptx,
                   const plan::Plan &plan) {
  const Driver &d = device->driver;
  if (!device->runs(plan.features))
    return makeError("the kernels were compiled for ", plan.features, ", found ", device->name,
                     " (", device->chip(), "); compile them for this chip")
        .of(ErrorKind::Device);
  std::shared_ptr<LoadedModule> loaded(new LoadedModule(device));
  Device::Current current(*device);
  if (Status s = current.status(); !s)
    return s.takeError();
  std::string log(8192, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  if (Status s = d.check(d.moduleLoad(&loaded->module, ptx.c_str(), 2, options, values),
                         "loading the kernels");
      !s) {
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
    return makeError(s.error().getMessage(), log.empty() ? "" : ": " + log).of(ErrorKind::Device);
  }
  for (const plan::Stage &stage : plan.stages) {
    Kernel kernel = nullptr;
    if (!stage.launch)
      return makeError("expected a launch configuration for stage '", stage.symbol,
                       "' in the plan, found none");
    if (Status s = d.check(d.moduleFunction(&kernel, loaded->module, stage.symbol.c_str()),
                           "finding kernel '" + stage.symbol + "'");
        !s)
      return s.takeError();
    if (stage.launch->sharedBytes > device->sharedPerBlock)
      return makeError("kernel '", stage.symbol, "' needs ", stage.launch->sharedBytes,
                       " bytes of shared memory, expected at most ", device->sharedPerBlock, " on ",
                       device->name)
          .of(ErrorKind::Device);
    if (Status s =
            d.check(d.functionSetAttribute(kernel, kMaxDynamicShared, stage.launch->sharedBytes),
                    "reserving shared memory of kernel '" + stage.symbol + "'");
        !s)
      return s.takeError();
    loaded->kernels.push_back(kernel);
  }
  return std::shared_ptr<const LoadedModule>(std::move(loaded));
}

LoadedModule::~LoadedModule() {
  if (!module)
    return;
  Device::Current current(*device);
  device->driver.moduleUnload(module);
}

} // namespace pe::cuda
