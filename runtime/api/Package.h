//===- Package.h - Compiled functions in one file ---------------*- C++ -*-===//
//
// A package is a bundle (Bundle.h; docs/packages.md): the function's signature and program once,
// and per target a plan and its code, in sections that begin with the target's name:
//
//   entry  program  cpu/plan  cpu/object  cuda-sm_80/plan  cuda-sm_80/object  ...
//
// A package that was asked for it also has, per target, the function that writes the bias of every
// pair in place of attention: cpu/bias/plan, cpu/bias/object ...
//
// A target is loaded when it is first asked for, so a package with kernels for GPUs opens on a
// machine without one.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_PACKAGE_H
#define PE_RUNTIME_API_PACKAGE_H

#include "runtime/api/Compiler.h"

namespace pe::api {

/// "cpu", "gpu-emulator" or "cuda-sm_80", the prefix of a package's sections.
std::string variantOf(const plan::Plan &plan);

/// Adds the sections of one compiled target to a package.
Status addVariant(Bundle &package, const Bundle &compiled);
/// Adds those of its function that writes the bias.
Status addBias(Bundle &package, const Bundle &compiled);

class Package {
public:
  /// Checks that there is at least one target and that every plan can be read.
  static Expected<std::shared_ptr<const Package>> open(Bundle bundle);

  /// "cpu, cuda-sm_80".
  std::string variants() const;
  /// The plan for a target, before anything is loaded; for cuda the newest chip that the machine's
  /// GPU can run. An error names the targets that the package has.
  Expected<const plan::Plan *> find(const std::string &target, const std::string &chip) const;
  /// The same, loaded once and shared by all callers.
  Expected<std::shared_ptr<const CompiledFunction>> load(const std::string &target,
                                                         const std::string &chip) const;

  /// The function that writes the bias of every pair for a target; null if the package was made
  /// without.
  Expected<std::shared_ptr<const CompiledFunction>> loadBias(const std::string &target,
                                                             const std::string &chip) const;

private:
  Status checkBias(const std::string &variant) const;
  Expected<std::shared_ptr<const CompiledFunction>> loadOnce(const std::string &variant,
                                                             const std::string &prefix) const;
  Expected<std::string> choose(const std::string &target, const std::string &chip) const;
  std::map<std::string, Bundle> bundles; // by variant, section names without it
  std::map<std::string, plan::Plan> plans;
  mutable std::mutex mutex;
  /// By variant and prefix.
  mutable std::map<std::string, std::shared_ptr<const CompiledFunction>> loaded;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_PACKAGE_H
