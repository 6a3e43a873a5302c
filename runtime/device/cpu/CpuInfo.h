//===- CpuInfo.h - The machine we run on ------------------------*- C++ -*-===//
//
// What the processor is and can do, and how many of its cores this process may use.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_CPUINFO_H
#define PE_RUNTIME_DEVICE_CPU_CPUINFO_H

#include <immintrin.h>
#include <string>
#include <vector>

namespace pe::cpu {

/// The x86-64 levels kernels are compiled for.
enum class Level { Unsupported, V3, V4 };

struct CpuInfo {
  /// The processor's own name (brand string).
  std::string name;
  /// The best level this processor and system support: AVX2 with FMA (V3) or AVX-512 (V4).
  Level level = Level::Unsupported;
  bool hasAvx512Bf16 = false;
  /// Features that kernels may use, as LLVM spells them.
  std::vector<std::string> features;

  /// Name and features in one line: part of the disk cache's key.
  std::string fingerprint() const;
};

/// For this machine; determined once.
const CpuInfo &hostCpu();

/// "x86-64-v3", "x86-64-v4"; for Unsupported "x86-64".
const char *nameOf(Level level);
/// The level called `features` by nameOf, or by an LLVM processor name the empty string (the host).
Level levelOf(const std::string &features);

inline void pause() { _mm_pause(); }

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_CPUINFO_H
