//===- Device.cpp - A GPU, its memory and its modules ---------------------===//

#include "runtime/device/cuda/Device.h"

#include "runtime/core/Hash.h"
#include "runtime/plan/Machine.h"

#include <charconv>
#include <map>
#include <tuple>

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

Result Device::enter() const {
  {
    std::lock_guard lock(mutex);
    if (!context)
      if (const Result result = driver.contextRetain(&context, id))
        return result;
  }
  return driver.contextPush(context);
}

std::string Device::compilationChip() const {
  std::string best;
  for (const plan::Machine &chip : plan::kMachines) // from old to new
    if (chip.isGpu && chip.name.back() <= '9' && runs(std::string(chip.name)))
      best = chip.name;
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

/// Checks that the driver accepts the version of the PTX ISA that `ptx` is in.
static Status checkVersion(const Device &device, const std::string &ptx, const std::string &chip) {
  // The first release of CUDA with each version of the PTX ISA (PTX ISA, release notes).
  constexpr std::pair<double, int> kFirst[] = {
      {8.0, 12000}, {8.1, 12010}, {8.2, 12020}, {8.3, 12030}, {8.4, 12040},
      {8.5, 12050}, {8.6, 12070}, {8.7, 12080}, {8.8, 12090}, {9.0, 13000}};
  constexpr std::string_view kDirective = ".version ";
  const size_t at = ptx.find(kDirective);
  double version = 0;
  if (at != std::string::npos)
    std::from_chars(ptx.data() + at + kDirective.size(), ptx.data() + ptx.size(), version);
  for (const auto &[isa, driver] : kFirst)
    if (version == isa && device.driver.version < driver)
      return makeError("kernels for ", chip, " are PTX ", ptx.substr(at + kDirective.size(), 3),
                       ", which requires a driver for CUDA ", versionText(driver),
                       " or newer, found one for CUDA ", versionText(device.driver.version),
                       "; update the driver, or compile for an older chip")
          .of(ErrorKind::Device);
  return Status::success();
}

/// Loads a module into the current context, or returns the one that is loaded already. The context
/// of a loaded module is never released.
static Expected<Module> loadOnce(const std::shared_ptr<const Device> &device,
                                 const std::string &ptx) {
  struct Loaded {
    Module module = nullptr;
    std::shared_ptr<const Device> device;
  };
  static std::mutex mutex;
  static auto *loaded = new std::map<std::tuple<const Driver *, DeviceId, std::string>, Loaded>;
  std::lock_guard lock(mutex);
  const Driver &d = device->driver;
  Sha256 hash;
  hash.update(ptx);
  const auto key = std::make_tuple(&d, device->id, hash.finish());
  if (auto found = loaded->find(key); found != loaded->end())
    return found->second.module;
  Module module = nullptr;
  std::string log(8192, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  if (Status s =
          d.check(d.moduleLoad(&module, ptx.c_str(), 2, options, values), "loading the kernels");
      !s) {
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
    return makeError(s.error().getMessage(), log.empty() ? "" : ": " + log).of(ErrorKind::Device);
  }
  (*loaded)[key] = {module, device};
  return module;
}

Expected<std::shared_ptr<const LoadedModule>>
LoadedModule::load(std::shared_ptr<const Device> device, const std::string &ptx,
                   const plan::Plan &plan) {
  const Driver &d = device->driver;
  if (!device->runs(plan.features))
    return makeError("the kernels were compiled for ", plan.features, ", found ", device->name,
                     " (", device->chip(), "); compile them for this chip")
        .of(ErrorKind::Device);
  if (Status s = checkVersion(*device, ptx, plan.features); !s)
    return s.takeError();
  std::shared_ptr<LoadedModule> loaded(new LoadedModule(device));
  Device::Current current(*device);
  if (Status s = current.status(); !s)
    return s.takeError();
  auto module = loadOnce(device, ptx);
  if (!module)
    return module.takeError();
  for (const plan::Stage &stage : plan.stages) {
    Kernel kernel = nullptr;
    if (!stage.launch)
      return makeError("expected a launch configuration for stage '", stage.symbol,
                       "' in the plan, found none");
    if (Status s = d.check(d.moduleFunction(&kernel, *module, stage.symbol.c_str()),
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

} // namespace pe::cuda
