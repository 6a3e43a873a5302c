//===- OwnLibraries.cpp - Libraries next to this code ---------------------===//

#include "runtime/core/OwnLibraries.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace pe {

/// Returns the directory of the library or executable that contains this code.
static std::string ownDirectory() {
  Dl_info info;
  if (!::dladdr(reinterpret_cast<void *>(&ownDirectory), &info) || !info.dli_fname)
    return ".";
  std::string file = info.dli_fname;
  // For the main program, dladdr may return the name from the command line.
  char *real =
      ::realpath(file.find('/') == std::string::npos ? "/proc/self/exe" : file.c_str(), nullptr);
  if (real) {
    file = real;
    std::free(real);
  }
  return file.substr(0, file.rfind('/'));
}

std::array<std::string, 2> ownLibraryPaths(const std::string &name) {
  const std::string directory = ownDirectory();
  return {directory + "/" + name, directory + "/../lib/" + name};
}

std::string ownLibraryPath(const std::string &name) {
  const auto paths = ownLibraryPaths(name);
  for (const std::string &path : paths)
    if (::access(path.c_str(), F_OK) == 0)
      return path;
  return paths[0];
}

} // namespace pe
