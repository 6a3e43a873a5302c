//===- Package.h - A function compiled for several targets ------*- C++ -*-===//
//
// A package is a bundle (Bundle.h; docs/packages.md). It contains the signature and the program of
// a function once, and a plan and code for each target, in sections prefixed with the target's
// name:
//
//   entry  program  cpu/plan  cpu/object  cuda-sm_80/plan  cuda-sm_80/object  ...
//
// Optionally it also contains, for each target, a function that computes the bias of every pair
// instead of attention: cpu/bias/plan, cpu/bias/object ...
//
// A target is loaded when it is first used, so a package with GPU kernels can be opened on a
// machine without a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_PACKAGE_H
#define PE_RUNTIME_API_PACKAGE_H

#include "pe/pe.h"
#include "runtime/api/Compiler.h"

namespace pe::api {

/// Returns "cpu", "gpu-emulator" or, for example, "cuda-sm_80": the prefix of the sections.
std::string variantOf(const plan::Plan &plan);

/// Adds the sections of one compiled target to a package.
Status addVariant(Bundle &package, const Bundle &compiled);
/// Adds the sections of the function that computes its bias.
Status addBias(Bundle &package, const Bundle &compiled);

class Package {
public:
  /// Opens a package. Fails if it has no target or if a plan cannot be read.
  static Expected<std::shared_ptr<const Package>> open(Bundle bundle);

  /// Returns the targets as a list, for example "cpu, cuda-sm_80".
  std::string variants() const;
  /// Returns the plan for the target, chip and device of `options` without loading it. For cuda
  /// without a chip, selects the newest one that the device can run; for gpu-emulator, one for cuda
  /// if the package has no other. Errors name the targets in the package.
  Expected<const plan::Plan *> find(const CompileOptions &options) const;
  /// Selects a target like `find` and loads it. All callers share the loaded function.
  Expected<std::shared_ptr<const CompiledFunction>> load(const CompileOptions &options) const;

  /// Returns the function that computes the bias of every pair for a target, or null if the package
  /// does not contain it.
  Expected<std::shared_ptr<const CompiledFunction>> loadBias(const CompileOptions &options) const;

private:
  Status checkBias(const std::string &variant) const;
  Expected<std::shared_ptr<const CompiledFunction>>
  loadOnce(const std::string &variant, const std::string &prefix, const std::string &target) const;
  Expected<std::string> choose(const CompileOptions &options) const;
  std::map<std::string, Bundle> bundles; // by variant; section names do not include it
  std::map<std::string, plan::Plan> plans;
  mutable std::mutex mutex;
  /// Loaded functions, by target, variant and prefix.
  mutable std::map<std::string, std::shared_ptr<const CompiledFunction>> loaded;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_PACKAGE_H
