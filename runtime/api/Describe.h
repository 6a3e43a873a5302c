//===- Describe.h - What a function takes and gives, as JSON ----*- C++ -*-===//
//
// For bindings to other languages, which make tensors and gradients from it (docs/c-api.md).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_DESCRIBE_H
#define PE_RUNTIME_API_DESCRIBE_H

#include "pe/Signature.h"
#include "runtime/api/Compiler.h"

namespace pe::api {

std::string describe(const EntryInfo &entry, const CompiledFunction &function);

} // namespace pe::api

#endif // PE_RUNTIME_API_DESCRIBE_H
