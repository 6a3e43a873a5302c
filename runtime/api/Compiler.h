//===- Compiler.h - Compilation with caching --------------------*- C++ -*-===//
//
// Looks up a compiled function in this process, then in the disk cache, and compiles it if neither
// has it. All sizes except head dim and value dim are dynamic, so calls with another batch size,
// head count, length or start find the function in this process.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_COMPILER_H
#define PE_RUNTIME_API_COMPILER_H

#include "runtime/api/DiskCache.h"
#include "runtime/api/JitLibrary.h"
#include "runtime/device/common/HostMemory.h"
#include "runtime/device/common/Runner.h"
#include "runtime/device/cpu/ObjectLoader.h"

#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace pe::api {

/// Executable code and its explanation.
struct CompiledFunction {
  std::shared_ptr<const device::Runner> runner;
  std::string explainText;
  std::string explainJson;
  /// Returns the target of the plan, or "reference".
  std::string target() const {
    const plan::Target planned = runner->getPlan().target;
    return std::string(nameOf(planned == plan::Target::None ? plan::Target::Reference : planned));
  }
};

/// The number of functions from each source, and of sources that were parsed and checked.
struct CompilerStatistics {
  int prepared = 0;
  int fromMemory = 0;
  int fromDisk = 0;
  int compiled = 0;
};

class Compiler {
public:
  Compiler(std::unique_ptr<JitProvider> provider, DiskCache cache)
      : provider(std::move(provider)), cache(std::move(cache)) {}

  /// Returns the compiler of this process.
  static Compiler &instance();

  Expected<std::shared_ptr<const jit::Description>> describe(const jit::Source &source);
  Expected<std::shared_ptr<const CompiledFunction>> compile(const jit::CompileRequest &request);
  /// Loads functions written in upstream dialects, from the disk cache or by compiling them.
  Expected<std::shared_ptr<cpu::LoadedCode>> compileKernels(const jit::Source &source);
  /// Returns the program at one stage of compilation. Not cached.
  Expected<std::string> emit(const jit::CompileRequest &request, jit::EmitStage stage);
  /// Returns the program with its biases as progressive interpolation. Not cached.
  Expected<jit::RepresentedProgram> represent(const jit::RepresentRequest &request);
  /// Returns plan and code as sections of a package.
  Expected<Bundle> compileToBundle(const jit::CompileRequest &request);

  CompilerStatistics statistics() const;
  const DiskCache &diskCache() const { return cache; }
  JitProvider &jitProvider() { return *provider; }

private:
  Expected<std::string> keyOf(const char *what, const jit::Source &source,
                              const std::string &fields);
  Expected<std::string> requestKey(const jit::CompileRequest &request);
  Expected<const jit::PreparedProgram *> prepare(jit::Jit &jit, const jit::Source &source);
  Expected<Bundle> compileFresh(const jit::CompileRequest &request);

  std::unique_ptr<JitProvider> provider;
  DiskCache cache;
  mutable std::mutex mutex;
  std::string compilerIdentity;
  /// The last prepared programs, the newest first. A program is usually compiled soon after it is
  /// described, and for several targets in a row.
  std::list<std::pair<jit::Source, std::unique_ptr<jit::PreparedProgram>>> preparedPrograms;
  std::map<std::string, std::shared_ptr<const jit::Description>> descriptions;
  std::map<std::string, std::shared_ptr<const CompiledFunction>> functions;
  CompilerStatistics counts;
};

/// Returns the SHA-256 of the sections "plan" and "object". It ties them together, because the code
/// relies on the plan to pass the buffers that it was compiled for.
std::string digestOf(const Bundle &bundle);

/// Loads the code of a plan for its target. `options` are for targets that compute on the host.
Expected<std::shared_ptr<const device::Runner>> makeRunner(plan::Plan plan, const std::string &code,
                                                           device::HostOptions options = {});

/// Loads a function from the sections of a bundle ("plan", "object", their "digest", "explain.txt",
/// "explain.json"). Fails if the digest does not match plan and code. With the target
/// "gpu-emulator", kernels for cuda run on the emulator.
Expected<std::shared_ptr<const CompiledFunction>> loadFunction(const Bundle &bundle,
                                                               const std::string &target = "");

/// Converts floating tensors to the element types of the buffers of the plan.
Expected<TensorMap> asPlanned(const TensorMap &tensors, const plan::Plan &plan);

/// Returns the sections "entry", "program" and the "digest" of both.
Bundle describeToBundle(const jit::Description &description);
Expected<jit::Description> loadDescription(const Bundle &bundle);

} // namespace pe::api

#endif // PE_RUNTIME_API_COMPILER_H
