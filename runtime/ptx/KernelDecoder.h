//===- KernelDecoder.h - The functions of one kernel ------------*- C++ -*-===//

#ifndef PE_RUNTIME_PTX_KERNELDECODER_H
#define PE_RUNTIME_PTX_KERNELDECODER_H

#include "runtime/ptx/StepDecoder.h"

namespace pe::ptx {

/// Decodes the functions of one kernel, each once.
class KernelDecoder {
public:
  KernelDecoder(const Module &module, const Placement &placement, Kernel &kernel)
      : module(module), placement(placement), kernel(kernel) {}

  Code &decode(const Function &function);
  /// Returns the address of a variable that is not of a frame, in its space.
  uint64_t addressOf(const std::string &name, const Function &function);
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

/// Returns the least multiple of `align` that is at least `value`.
inline uint64_t alignUp(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_KERNELDECODER_H
