//===- Describe.h - Inputs and outputs of a function as JSON ----*- C++ -*-===//
//
// Describes the tensors of a function for bindings to other languages, which create tensors and
// gradients from it (docs/c-api.md).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_DESCRIBE_H
#define PE_RUNTIME_API_DESCRIBE_H

#include "runtime/api/Compiler.h"

namespace pe::api {

std::string describe(const jit::Description &description, const CompiledFunction &function);

} // namespace pe::api

#endif // PE_RUNTIME_API_DESCRIBE_H
