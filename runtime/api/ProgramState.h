//===- ProgramState.h - What a Program stands for ---------------*- C++ -*-===//

#ifndef PE_RUNTIME_API_PROGRAMSTATE_H
#define PE_RUNTIME_API_PROGRAMSTATE_H

#include "runtime/api/Compiler.h"

namespace pe::api {

struct ProgramState {
  /// Empty text for a package.
  jit::Source source;
  std::shared_ptr<const jit::Description> description;
  /// Of a package: what it holds.
  std::shared_ptr<const CompiledFunction> packaged;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_PROGRAMSTATE_H
