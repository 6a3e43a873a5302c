//===- CpuInfo.h - Properties of the host processor -------------*- C++ -*-===//
//
// Detects the name of the host processor, the machine of runtime/plan/Machine.h that it is, and its
// instruction set extensions.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_CPUINFO_H
#define PE_RUNTIME_DEVICE_CPU_CPUINFO_H

#include "runtime/plan/Machine.h"

#include <immintrin.h>
#include <string>
#include <vector>

namespace pe::cpu {

struct CpuInfo {
  /// The brand string, with family, model and stepping.
  std::string name;
  /// The best machine whose code this processor and system can run, or null.
  const plan::Machine *machine = nullptr;
  /// Features that kernels may use, in LLVM's spelling.
  std::vector<std::string> features;

  /// Returns the name and features in one line. The key of the disk cache includes it.
  std::string fingerprint() const;
  /// Returns the name of `machine`, or "x86-64" if there is none.
  std::string level() const;
  /// Returns true if this processor can run code for the CPU.
  bool runs(const plan::Machine &cpu) const { return machine && &cpu <= machine; }
};

/// Returns the properties of this machine, which are detected once.
const CpuInfo &hostCpu();

/// Returns the CPU with this name, the machine of the host if the name is empty, or null.
const plan::Machine *machineOf(const std::string &features);

inline void pause() { _mm_pause(); }

/// Returns the number of cores that the affinity mask and the control group quota allow.
int usableCores();

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_CPUINFO_H
