//===- JitLibrary.cpp - Loading of the compiler library -------------------===//

#include "runtime/api/JitLibrary.h"
#include "runtime/core/OwnLibraries.h"

#include <array>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <sys/stat.h>

namespace pe::api {
namespace {

constexpr const char *kLibrary = "libpe-jit.so";

/// Returns "PATH SIZE MTIME", or an empty string if there is no such file.
std::string describeFile(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return "";
  return path + " " + std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) +
         "." + std::to_string(info.st_mtim.tv_nsec);
}

/// Appends the description of the library if it belongs to the compiler (callback of
/// dl_iterate_phdr).
int collectFile(dl_phdr_info *info, size_t, void *out) {
  const std::string path = info->dlpi_name ? info->dlpi_name : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const char *part : {"libpe-jit", "libLLVM", "libMLIR"})
    if (name.starts_with(part))
      *static_cast<std::string *>(out) += describeFile(path) + "\n";
  return 0;
}

class JitLibrary final : public JitProvider {
public:
  JitLibrary() { candidates = ownLibraryPaths(kLibrary); }

  Expected<jit::Jit *> get() override {
    std::lock_guard lock(mutex);
    if (jit)
      return jit;
    void *handle = ::dlopen(place().c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
      const char *reason = ::dlerror();
      return makeError("the compiler library ", kLibrary,
                       " cannot be loaded: ", reason ? reason : "unknown reason",
                       "; install it in ", candidates[0].substr(0, candidates[0].rfind('/')),
                       " or run a compiled package")
          .of(ErrorKind::Compile);
    }
    auto create = reinterpret_cast<decltype(&peCreateJit)>(::dlsym(handle, "peCreateJit"));
    jit = create ? create(jit::kJitAbiVersion) : nullptr;
    if (!jit)
      return makeError("expected ", place(), " to have interface version ", jit::kJitAbiVersion,
                       ", found another; install the library of pe ", PE_VERSION);
    return jit;
  }

  Expected<std::string> identity(const std::string &previous) override {
    if (!previous.empty() && stillHolds(previous))
      return previous;
    if (Expected<jit::Jit *> loaded = get(); !loaded)
      return loaded.takeError();
    std::string files;
    ::dl_iterate_phdr(collectFile, &files);
    return files;
  }

  /// Returns the library that `get` loads.
  std::string place() override {
    for (const std::string &candidate : candidates)
      if (!describeFile(candidate).empty())
        return candidate;
    return candidates[0];
  }

private:
  static bool stillHolds(const std::string &lines) {
    for (size_t begin = 0, end; begin < lines.size(); begin = end + 1) {
      end = lines.find('\n', begin);
      if (end == std::string::npos)
        return false;
      const std::string line = lines.substr(begin, end - begin);
      const size_t size = line.rfind(' ', line.rfind(' ') - 1);
      if (size == std::string::npos || describeFile(line.substr(0, size)) != line)
        return false;
    }
    return true;
  }

  std::array<std::string, 2> candidates;
  std::mutex mutex;
  /// Never destroyed, because LLVM's globals may be destroyed first when the process ends.
  jit::Jit *jit = nullptr;
};

} // namespace

std::unique_ptr<JitProvider> makeJitLibrary() { return std::make_unique<JitLibrary>(); }

} // namespace pe::api
