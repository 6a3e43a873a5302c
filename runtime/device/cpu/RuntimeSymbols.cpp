//===- RuntimeSymbols.cpp - Functions that compiled code may call ---------===//

#include "runtime/device/cpu/RuntimeSymbols.h"

#include "runtime/device/cpu/Segments.h"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>

namespace pe::cpu {
namespace {

/// Rounds to nearest, ties to even. LLVM calls it by its compiler-rt name on processors without an
/// instruction for the conversion; the libgcc of Debian 12 does not define it.
__bf16 truncateToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const bool isNan = value != value;
  const uint32_t rounded = isNan ? bits | 0x400000 : bits + 0x7FFF + (bits >> 16 & 1);
  const auto half = static_cast<uint16_t>(rounded >> 16);
  __bf16 result;
  std::memcpy(&result, &half, sizeof result);
  return result;
}

struct RuntimeFunction {
  const char *name;
  void *address;
};

/// Listed because dlsym does not find functions of a static library.
const RuntimeFunction kFunctions[] = {
    {"pe_find_segments", reinterpret_cast<void *>(&pe_find_segments)},
    {"__truncsfbf2", reinterpret_cast<void *>(&truncateToBf16)},
};

} // namespace

void *findRuntimeSymbol(const std::string &name) {
  for (const RuntimeFunction &function : kFunctions)
    if (name == function.name)
      return function.address;
  return ::dlsym(RTLD_DEFAULT, name.c_str());
}

} // namespace pe::cpu
