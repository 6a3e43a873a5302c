//===- Exemptions.cpp - Cases that devices do not support -----------------===//

#include "conformance/Exemptions.h"

#include "runtime/device/cuda/Device.h"
#include "runtime/plan/Machine.h"

#include <algorithm>

namespace pe::conformance {

static constexpr std::string_view kMemory = "bytes of shared memory";
static constexpr std::string_view kPanels = "the panels of both terms exceed the shared memory";
static constexpr std::string_view kType = "on target cpu, found";
static constexpr std::string_view kSingle = "CPUs have no products of tf32";

static constexpr Exemption kExemptions[] = {
    {"*", "cpu", DType::TF32, kType, kSingle},
    {"panels deep", "sm_86,sm_89,sm_120,sm_121", DType::F32, kMemory, kPanels},
    {"NotFinite: masked pairs of a NaN", "gpu", DType::F32, "",
     "in a partially masked block, zeros of masked pairs are multiplied by their operands "
     "(docs/numerics.md)"},
    {"Modes: gradients of a NaN sink", "gpu", DType::F32, "",
     "in a partially masked block, zeros of masked pairs are multiplied by the NaN of the row "
     "(docs/numerics.md)"},
};

std::span<const Exemption> exemptions() { return kExemptions; }

std::string deviceOf(const SubjectOptions &options) {
  std::string chip = options.chip;
  if (options.target == "gpu-emulator" && chip.empty())
    chip = "sm_80"; // the emulator's default
  if (options.target == "cuda" && chip.empty())
    if (auto device = cuda::Device::open())
      chip = (*device)->compilationChip();
  // Without the version of PTX.
  return chip.empty() ? options.target : chip.substr(0, chip.find('+'));
}

/// Returns true if `devices` contains the device.
static bool isListed(std::string_view devices, std::string_view device) {
  const plan::Machine *machine = plan::findMachine(device);
  if (devices == "gpu")
    return machine && machine->isGpu;
  for (size_t start = 0; start <= devices.size();) {
    const size_t end = std::min(devices.find(',', start), devices.size());
    if (devices.substr(start, end - start) == device)
      return true;
    start = end + 1;
  }
  return false;
}

const Exemption *findExemption(std::string_view name, std::string_view device, DType dtype) {
  const bool isOfTable = name.find(": ") == std::string_view::npos;
  for (const Exemption &exemption : kExemptions)
    if ((exemption.name == name || (isOfTable && exemption.name == "*")) &&
        exemption.dtype == dtype && isListed(exemption.devices, device))
      return &exemption;
  return nullptr;
}

void judgeListed(const Exemption &exemption, CaseResult &result) {
  if (result.passes())
    result.failure = "is supported, but Exemptions.cpp lists it (" + std::string(exemption.reason) +
                     "); remove the entry";
  else if (!result.failure.empty() && result.failure.find(exemption.refusal) != std::string::npos) {
    result.failure.clear();
    result.exemption = exemption.reason;
  }
}

} // namespace pe::conformance
