//===- EmulatorGuard.cpp - Emulated kernels as a plan's stages ------------===//
#include "runtime/device/emulator/EmulatorGuard.h"

#include "runtime/device/emulator/Emulator.h"

namespace pe::emulator {

void EmulatorGuard::begin(const plan::Stage &, const std::vector<const Tensor *> &buffers,
                          int64_t items, int threads) {
  std::vector<Region> regions;
  for (const Tensor *tensor : buffers)
    regions.push_back({reinterpret_cast<uintptr_t>(tensor->rawData()), tensor->byteSize()});
  beginStage(std::move(regions), items, threads);
}

Status EmulatorGuard::end(const plan::Stage &) { return endStage(); }

} // namespace pe::emulator
