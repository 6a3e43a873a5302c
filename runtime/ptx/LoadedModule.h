//===- LoadedModule.h - Kernels in PTX, executed on the host ----*- C++ -*-===//
//
// A device that executes PTX text: memory, modules and launches. It is deterministic, and hard on a
// kernel: a seed interleaves CTAs and warps, copies land as late as they may, and loads may be
// stale. An access out of bounds, a race, a missing lane or a wait that never ends is an error with
// the PTX line, the thread and what was expected.
//
//   Memory memory;
//   uint64_t out = memory.allocate(1024);
//   auto loaded = LoadedModule::load(text, "kernel.ptx", memory);
//   Launch launch;
//   launch.grid = {4, 1, 1}, launch.block = {64, 1, 1};
//   launch.setParameter(0, out);
//   Status status = (*loaded)->run("kernel", launch);
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_LOADEDMODULE_H
#define PE_RUNTIME_PTX_LOADEDMODULE_H

#include "runtime/ptx/DeviceMemory.h"
#include "runtime/ptx/Launch.h"
#include "runtime/ptx/StepDecoder.h"

#include <functional>
#include <mutex>

namespace pe::ptx {

/// A parsed module with its variables placed in memory.
class LoadedModule {
public:
  /// Parses and decodes all kernels, so that what is unknown is refused before anything runs.
  static Expected<std::unique_ptr<LoadedModule>> load(std::string_view text,
                                                      const std::string &file, Memory &memory);
  ~LoadedModule();

  const Module &module() const { return *parsed; }
  const Kernel *kernel(std::string_view name) const;
  /// Checks the launch against the kernel and `limits`, and runs it to its end.
  Status run(std::string_view kernel, const Launch &launch, const Limits &limits = {}) const;
  /// Returns counts by line, ascending, of all launches since the last call.
  std::vector<LineCounts> takeCounts() const;
  /// The number of warp instructions executed so far.
  uint64_t instructions() const { return executed; }

private:
  LoadedModule(Memory &memory) : memory(memory) {}
  Memory &memory;
  std::unique_ptr<Module> parsed;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  std::vector<uint64_t> placed; // allocations of .global variables
  std::vector<std::byte> constants;
  mutable std::map<int, LineCounts> counted;
  mutable uint64_t executed = 0;
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_LOADEDMODULE_H
