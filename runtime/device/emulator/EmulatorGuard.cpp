//===- EmulatorGuard.cpp - Emulated kernels as a plan's stages ------------===//
#include "runtime/device/emulator/EmulatorGuard.h"

#include "runtime/device/emulator/Emulator.h"

namespace pe::emulator {

/// Bytes from the first element to behind the last.
static size_t spanOf(const Tensor &tensor) {
  if (tensor.numel() == 0)
    return 0;
  int64_t last = 0;
  for (int64_t axis = 0; axis < tensor.rank(); ++axis)
    last += (tensor.dim(axis) - 1) * tensor.strides()[axis];
  return static_cast<size_t>(last + 1) * sizeOf(tensor.dtype());
}

void EmulatorGuard::begin(const plan::Stage &, const std::vector<const Tensor *> &buffers,
                          int64_t items, int threads) {
  std::vector<Region> regions;
  for (const Tensor *tensor : buffers)
    regions.push_back({reinterpret_cast<uintptr_t>(tensor->rawData()), spanOf(*tensor)});
  beginStage(std::move(regions), items, threads);
}

Status EmulatorGuard::end(const plan::Stage &) { return endStage(); }

} // namespace pe::emulator
