//===- EmulatorGuard.h - Emulated kernels as a plan's stages ----*- C++ -*-===//
#ifndef PE_RUNTIME_DEVICE_EMULATOR_EMULATORGUARD_H
#define PE_RUNTIME_DEVICE_EMULATOR_EMULATORGUARD_H

#include "runtime/device/cpu/Executor.h"
#include "runtime/device/emulator/Emulator.h"

#include <mutex>

namespace pe::emulator {

/// Lets a stage touch its own buffers only, and turns what its kernels did wrong into the call's
/// error. The emulator has one state in a process: stages of calls of several threads take turns.
class EmulatorGuard final : public cpu::StageGuard {
public:
  void begin(const plan::Stage &stage, std::span<const cpu::Region> buffers, int64_t items,
             int threads) override;
  Status end(const plan::Stage &stage) override;
};

} // namespace pe::emulator

#endif // PE_RUNTIME_DEVICE_EMULATOR_EMULATORGUARD_H
