//===- Target.h - The targets of a compilation ------------------*- C++ -*-===//

#ifndef PE_RUNTIME_PLAN_TARGET_H
#define PE_RUNTIME_PLAN_TARGET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pe::plan {

/// The executor of a function.
enum class Target : uint8_t {
  None,        // not chosen yet
  Cpu,         // machine code on this host
  Cuda,        // PTX on an NVIDIA GPU
  GpuEmulator, // the same PTX on the host
  Reference    // the float64 reference, which evaluates a source without compiling it
};

inline constexpr std::string_view kTargetNames[] = {"", "cpu", "cuda", "gpu-emulator", "reference"};

constexpr std::string_view nameOf(Target target) {
  return kTargetNames[static_cast<size_t>(target)];
}

/// Returns the target with this name; "" is None.
constexpr std::optional<Target> findTarget(std::string_view name) {
  for (size_t i = 0; i < std::size(kTargetNames); ++i)
    if (kTargetNames[i] == name)
      return static_cast<Target>(i);
  return std::nullopt;
}

/// Returns true if the code is PTX.
constexpr bool isGpu(Target target) {
  return target == Target::Cuda || target == Target::GpuEmulator;
}

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_TARGET_H
