//===- EmulatorGuard.cpp - Emulated kernels as a plan's stages ------------===//
#include "runtime/device/emulator/EmulatorGuard.h"

namespace pe::emulator {

static std::mutex &turnOfStages() {
  static auto *turn = new std::mutex; // calls may come from static destructors
  return *turn;
}

void EmulatorGuard::begin(const plan::Stage &, std::span<const cpu::Region> buffers, int64_t items,
                          int threads) {
  std::vector<Region> regions;
  for (const cpu::Region &buffer : buffers)
    regions.push_back({reinterpret_cast<uintptr_t>(buffer.begin), size_t(buffer.bytes)});
  turnOfStages().lock();
  beginStage(std::move(regions), items, threads);
}

Status EmulatorGuard::end(const plan::Stage &) {
  Status status = endStage();
  turnOfStages().unlock();
  return status;
}

} // namespace pe::emulator
