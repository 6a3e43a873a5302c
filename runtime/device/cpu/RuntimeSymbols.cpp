//===- RuntimeSymbols.cpp - What compiled code may call -------------------===//

#include "runtime/device/cpu/RuntimeSymbols.h"

#include "runtime/device/cpu/Segments.h"

#include <dlfcn.h>

namespace pe::cpu {
namespace {

struct RuntimeFunction {
  const char *name;
  void *address;
};

/// Listed here rather than looked up in the process: a static library exports no symbols.
const RuntimeFunction kFunctions[] = {
    {"pe_find_segments", reinterpret_cast<void *>(&pe_find_segments)},
};

} // namespace

void *findRuntimeSymbol(const std::string &name) {
  for (const RuntimeFunction &function : kFunctions)
    if (name == function.name)
      return function.address;
  return ::dlsym(RTLD_DEFAULT, name.c_str());
}

} // namespace pe::cpu
