//===- Compiler.h - Compile once, remember ----------------------*- C++ -*-===//
//
// Three places to find a compiled function, cheapest first: this process, the disk cache, the
// compiler. All sizes but head dim and value dim are left to run time, so a new batch, head count,
// length or start finds the function in the first place.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_COMPILER_H
#define PE_RUNTIME_API_COMPILER_H

#include "runtime/api/DiskCache.h"
#include "runtime/api/JitLibrary.h"
#include "runtime/device/common/Runner.h"
#include "runtime/device/cpu/ObjectLoader.h"

#include <map>
#include <memory>
#include <mutex>

namespace pe::api {

/// Code that can be run, and what there is to tell about it.
struct CompiledFunction {
  std::shared_ptr<const device::Runner> runner;
  std::string explainText;
  std::string explainJson;
  /// "cpu" ..., "reference".
  std::string target() const {
    const std::string &planned = runner->getPlan().target;
    return planned.empty() ? "reference" : planned;
  }
};

/// How often each place was the one.
struct CompilerStatistics {
  int fromMemory = 0;
  int fromDisk = 0;
  int compiled = 0;
};

class Compiler {
public:
  Compiler(std::unique_ptr<JitProvider> provider, DiskCache cache)
      : provider(std::move(provider)), cache(std::move(cache)) {}

  /// The one of this process.
  static Compiler &instance();

  Expected<std::shared_ptr<const jit::Description>> describe(const jit::Source &source);
  Expected<std::shared_ptr<const CompiledFunction>> compile(const jit::CompileRequest &request);
  /// Plain functions in upstream dialects, loaded: from the disk cache or compiled.
  Expected<std::shared_ptr<cpu::LoadedCode>> compileKernels(const jit::Source &source);
  /// The program at one stage of compilation; never cached.
  Expected<std::string> emit(const jit::CompileRequest &request, jit::EmitStage stage);
  /// The program with its biases as progressive interpolation; never cached.
  Expected<jit::RepresentedProgram> represent(const jit::RepresentRequest &request);
  /// Plan and code as sections of a package.
  Expected<Bundle> compileToBundle(const jit::CompileRequest &request);

  CompilerStatistics statistics() const;
  const DiskCache &diskCache() const { return cache; }
  JitProvider &jitProvider() { return *provider; }

private:
  Expected<std::string> keyOf(const char *what, const jit::Source &source,
                              const std::string &fields);
  Expected<std::string> requestKey(const jit::CompileRequest &request);
  Expected<Bundle> compileFresh(const jit::CompileRequest &request);

  std::unique_ptr<JitProvider> provider;
  DiskCache cache;
  mutable std::mutex mutex;
  std::string compilerIdentity;
  std::map<std::string, std::shared_ptr<const jit::Description>> descriptions;
  std::map<std::string, std::shared_ptr<const CompiledFunction>> functions;
  CompilerStatistics counts;
};

/// SHA-256 of the sections "plan" and "object", which are one thing: the code trusts the plan to
/// give it the buffers that it was compiled for.
std::string digestOf(const Bundle &bundle);

/// A function from the sections of a bundle ("plan", "object", their "digest", "explain.txt",
/// "explain.json"). Plan and code that do not belong together are refused.
Expected<std::shared_ptr<const CompiledFunction>> loadFunction(const Bundle &bundle);

/// The tensors in the element types of the plan's buffers: floating ones are converted.
Expected<TensorMap> asPlanned(const TensorMap &tensors, const plan::Plan &plan);

/// As sections "entry", "program" and the "digest" of both.
Bundle describeToBundle(const jit::Description &description);
Expected<jit::Description> loadDescription(const Bundle &bundle);

} // namespace pe::api

#endif // PE_RUNTIME_API_COMPILER_H
