//===- Represent.h - Biases as progressive interpolation --------*- C++ -*-===//
#ifndef PE_RUNTIME_JIT_REPRESENT_H
#define PE_RUNTIME_JIT_REPRESENT_H

#include "runtime/jit/JitInterface.h"

namespace pe::jit {

/// Rewrites the entry of a source, and derives the parameters of the new program.
Expected<RepresentedProgram> represent(const RepresentRequest &request);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_REPRESENT_H
