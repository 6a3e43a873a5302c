//===- Collectives.h - What the lanes of a warp do together -----*- C++ -*-===//
//
// A lane passes a frame of 64-bit slots: operands in, results out. `evaluate` is called when all
// lanes of the warp have arrived.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_EMULATOR_COLLECTIVES_H
#define PE_RUNTIME_DEVICE_EMULATOR_COLLECTIVES_H

#include <array>
#include <cstdint>

namespace pe::emulator {

constexpr int kWarp = 32;

/// The numbers are part of the ABI of emulated kernels (passes/ToEmulator).
enum class Collective : int32_t {
  SyncWarp = 0,
  /// In: value, lane or mask; `detail` 0: xor, 3: index. Out: value.
  Shuffle = 1,
  /// In: address of a row of 16 bytes; `detail`: bit 0 transposed. Out: four registers.
  LoadMatrices = 2,
  /// mma.sync: a (4), b (2), c (4) in; d (4) out. `detail` 0: bf16, 1: f16 (m16n8k16), 2: tf32
  /// (m16n8k8).
  MultiplyAdd = 3,
  /// redux.sync of signed integers. In: value; `detail` 0: sum, 1: minimum, 2: maximum. Out: value.
  Reduce = 4,
};

using Frames = std::array<uint64_t *, kWarp>;
void evaluate(Collective what, int32_t detail, const Frames &frames);

/// Whether the register holds a valid tf32; for other values mma.sync is undefined.
bool isTf32(uint32_t bits);

} // namespace pe::emulator

#endif // PE_RUNTIME_DEVICE_EMULATOR_COLLECTIVES_H
