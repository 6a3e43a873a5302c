//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//

#include "runtime/device/cuda/Driver.h"
#include "runtime/core/OwnLibraries.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <optional>

namespace pe::cuda {

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

namespace {

/// A driver that is opened at most once. Failures are retried, because a driver may be installed
/// later.
struct OnceOpened {
  std::mutex mutex;
  std::optional<Driver> driver;
};

std::string emulatorPath() { return ownLibraryPath("libpe-ptx-cuda.so"); }

Expected<Driver> load(void *library, const std::string &path) {
  Driver driver;
#define PE_CUDA_FIND(name, symbol, arguments)                                                      \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, #symbol));                  \
  if (!driver.name)                                                                                \
    return makeError("the NVIDIA driver ", path, " is too old: it has no function " #symbol)       \
        .of(ErrorKind::Device);
  PE_CUDA_FUNCTIONS(PE_CUDA_FIND)
#undef PE_CUDA_FIND
  driver.takeCounts =
      reinterpret_cast<decltype(driver.takeCounts)>(dlsym(library, "pePtxTakeCounts"));
  if (Status s = driver.check(driver.init(0), "starting the NVIDIA driver"); !s)
    return s.takeError();
  if (Status s = driver.check(driver.driverVersion(&driver.version), "reading its version"); !s)
    return s.takeError();
  if (driver.version < kOldestDriver)
    return makeError("expected an NVIDIA driver for CUDA ", versionText(kOldestDriver),
                     " or newer, found one for CUDA ", versionText(driver.version))
        .of(ErrorKind::Device);
  int count = 0;
  if (Status s = driver.check(driver.deviceCount(&count), "counting devices"); !s)
    return s.takeError();
  if (count == 0)
    return makeError("the NVIDIA driver finds no device").of(ErrorKind::Device);
  return driver;
}

} // namespace

static Expected<const Driver *> openOnce(OnceOpened &once, const std::string &path,
                                         const char *missing, const char *advice) {
  std::lock_guard lock(once.mutex);
  if (once.driver)
    return &*once.driver;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(missing, ": cannot open ", path, " (", dlerror(), "); ", advice)
        .of(ErrorKind::Device);
  Expected<Driver> loaded = load(library, path);
  if (!loaded)
    return loaded.takeError();
  once.driver = *std::move(loaded);
  return &*once.driver;
}

Expected<const Driver *> Driver::open() {
  static OnceOpened opened;
  const char *chosen = std::getenv("PE_CUDA_DRIVER");
  std::string path = chosen && *chosen ? chosen : "libcuda.so.1";
  if (path == "ptx")
    path = emulatorPath();
  return openOnce(opened, path, "no NVIDIA driver on this machine",
                  "install the driver, or use --target=cpu or gpu-emulator");
}

Expected<const Driver *> Driver::openEmulator() {
  static OnceOpened opened;
  return openOnce(opened, emulatorPath(), "no emulator of GPUs in this installation",
                  "build it with `make build`, or install all libraries of pe");
}

Status Driver::check(Result result, const std::string &doing) const {
  if (result == 0)
    return Status::success();
  const char *name = nullptr, *text = nullptr;
  errorName(result, &name);
  errorText(result, &text);
  return makeError("CUDA: ", doing, ": ", name ? name : "error " + std::to_string(result),
                   text ? std::string(" (") + text + ")" : "")
      .of(result == 2 ? ErrorKind::Memory : ErrorKind::Device);
}

} // namespace pe::cuda
