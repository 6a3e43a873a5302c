//===- CpuInfo.h - Properties of the host processor -------------*- C++ -*-===//
//
// Detects the name of the host processor, its x86-64 level and its instruction set extensions.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_CPUINFO_H
#define PE_RUNTIME_DEVICE_CPU_CPUINFO_H

#include <immintrin.h>
#include <string>
#include <vector>

namespace pe::cpu {

/// The x86-64 levels that kernels are compiled for.
enum class Level { Unsupported, V3, V4 };

struct CpuInfo {
  /// The brand string, with family, model and stepping.
  std::string name;
  /// The best level that this processor and system support: AVX2 with FMA (V3) or AVX-512 (V4).
  Level level = Level::Unsupported;
  bool hasAvx512Bf16 = false;
  /// Features that kernels may use, in LLVM's spelling.
  std::vector<std::string> features;

  /// Returns the name and features in one line. The key of the disk cache includes it.
  std::string fingerprint() const;
};

/// Returns the properties of this machine, which are detected once.
const CpuInfo &hostCpu();

/// Returns "x86-64-v3", "x86-64-v4", or "x86-64" for Unsupported.
const char *nameOf(Level level);
/// Returns the level with this name. The empty string is the level of the host; every other string
/// is Unsupported.
Level levelOf(const std::string &features);

inline void pause() { _mm_pause(); }

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_CPUINFO_H
