//===- Symbols.cpp - the device library on the host -----------------------===//
#include "runtime/core/DType.h"
#include "runtime/device/emulator/Emulator.h"
#include "runtime/device/library/DeviceLibrary.h"

#include <bit>
#include <map>

namespace pe::emulator {

/// LLVM calls this to round to bf16 on a host without an instruction for it.
static __bf16 roundToBf16(float value) { return std::bit_cast<__bf16>(floatToBf16(value)); }

static std::map<std::string, void *> makeTable() {
  std::map<std::string, void *> table;
#define PE_GPU_ENTRY(name)                                                                         \
  table["pe_gpu_" #name "_f32"] = reinterpret_cast<void *>(pe_gpu_##name##_f32);                   \
  table["pe_gpu_" #name "_f64"] = reinterpret_cast<void *>(pe_gpu_##name##_f64);
  PE_GPU_UNARY(PE_GPU_ENTRY)
  PE_GPU_BINARY(PE_GPU_ENTRY)
  table["pe_gpu_find_segments"] = reinterpret_cast<void *>(pe_gpu_find_segments);
  table["__truncsfbf2"] = reinterpret_cast<void *>(roundToBf16);
  return table;
}

void *findLibrarySymbol(const std::string &name) {
  static const std::map<std::string, void *> table = makeTable();
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace pe::emulator
