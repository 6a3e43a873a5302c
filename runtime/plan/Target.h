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

/// The translation of tile stages to code.
enum class Lowering : uint8_t {
  Cpu,   // tuned kernels for CPUs
  Loops, // the naive scalar loops that define the tile ops, for CPUs
  Gpu    // kernels for GPUs, the only lowering of their targets
};

inline constexpr std::string_view kLoweringNames[] = {"cpu", "loops", "gpu"};

constexpr std::string_view nameOf(Lowering lowering) {
  return kLoweringNames[static_cast<size_t>(lowering)];
}

/// Returns the lowering for CPUs with this name.
constexpr std::optional<Lowering> findCpuLowering(std::string_view name) {
  for (Lowering lowering : {Lowering::Cpu, Lowering::Loops})
    if (nameOf(lowering) == name)
      return lowering;
  return std::nullopt;
}

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_TARGET_H
