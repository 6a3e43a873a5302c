//===- RuntimeSymbols.cpp - What compiled code may call -------------------===//

#include "runtime/device/cpu/RuntimeSymbols.h"

#include "runtime/device/cpu/Segments.h"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>

namespace pe::cpu {
namespace {

/// To nearest, ties to even. Processors without an instruction for it, where LLVM moves numbers of
/// this type about, call it by the name that compiler-rt gives it; Debian 12's libgcc has none.
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

/// Listed here rather than looked up in the process: a static library exports no symbols.
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
