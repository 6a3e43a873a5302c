//===- PlanRunner.h - compiles a source for a target and runs its stages --===//

#ifndef PE_TEST_PASSES_PIPELINES_PLANRUNNER_H
#define PE_TEST_PASSES_PIPELINES_PLANRUNNER_H

#include "runtime/device/common/BoundPlan.h"
#include "runtime/device/common/Runner.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/ptx/LoadedModule.h"

#include <gtest/gtest.h>

namespace pe::test {

template <typename T> T take(Expected<T> value) {
  if (!value)
    ADD_FAILURE() << value.error().getMessage();
  return *std::move(value);
}

/// Compiles the stages of a plan for "loops", "cpu" or "gpu-emulator" and runs them.
class PlanRunner {
public:
  /// The source is a tile plan if `isTile`; otherwise it is in the pe dialect and is compiled for
  /// depth 16, with gradients.
  PlanRunner(const std::string &source, const std::string &target, bool isTile);

  const plan::Plan &getPlan() const { return bound.getPlan(); }
  /// Returns a runner of calls.
  std::shared_ptr<const device::Runner> makeRunner() const;
  /// Runs every stage on one tensor per buffer.
  void run(const std::vector<Tensor> &tensors, const device::SizeTable &frame) const;

  device::BoundPlan bound;

private:
  void runOnCpu(size_t stage, const std::vector<Tensor> &tensors,
                const device::SizeTable &frame) const;
  void runOnGpu(size_t stage, const std::vector<Tensor> &tensors,
                const device::SizeTable &frame) const;

  std::shared_ptr<cpu::LoadedCode> code;
  std::string ptx;
  mutable ptx::Memory memory;
  std::unique_ptr<ptx::LoadedModule> kernels;
};

inline std::string nameOfTarget(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}

} // namespace pe::test

#endif // PE_TEST_PASSES_PIPELINES_PLANRUNNER_H
