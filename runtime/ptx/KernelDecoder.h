//===- KernelDecoder.h - The functions of one kernel ------------*- C++ -*-===//

#ifndef PE_RUNTIME_PTX_KERNELDECODER_H
#define PE_RUNTIME_PTX_KERNELDECODER_H

#include "runtime/ptx/StepDecoder.h"

namespace pe::ptx {

/// Decodes the functions of one kernel, each once.
class KernelDecoder final : public KernelParts {
public:
  KernelDecoder(const Module &module, const Placement &placement, Kernel &kernel)
      : module(module), placement(placement), kernel(kernel) {}

  Code &decode(const Function &function) override;
  uint64_t addressOf(const std::string &name, const Function &function) override;
  void placeShared();

  const Module &module;
  const Placement &placement;
  Kernel &kernel;

private:
  void placeShared(const Variable &variable);
  void decodeStatement(Decoder &decoder, const Statement &statement, Code &code);
  std::unordered_map<const Function *, Code *> decoded;
  std::vector<const Function *> open; // to find recursion
  std::unordered_map<std::string, uint64_t> shared;
  std::vector<std::string> dynamic; // shared variables without a size
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_KERNELDECODER_H
