//===- Symbols.cpp - the device library on the host -----------------------===//
#include "runtime/device/emulator/Emulator.h"
#include "runtime/device/library/DeviceLibrary.h"

#include <map>

namespace pe::emulator {

#define PE_GPU_ENTRY(name)                                                                         \
  {"pe_gpu_" #name "_f32", reinterpret_cast<void *>(pe_gpu_##name##_f32)},                         \
      {"pe_gpu_" #name "_f64", reinterpret_cast<void *>(pe_gpu_##name##_f64)},

void *findLibrarySymbol(const std::string &name) {
  static const std::map<std::string, void *> table = {PE_GPU_UNARY(PE_GPU_ENTRY) PE_GPU_BINARY(
      PE_GPU_ENTRY){"pe_gpu_find_segments", reinterpret_cast<void *>(pe_gpu_find_segments)}};
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace pe::emulator
