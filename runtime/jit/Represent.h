//===- Represent.h - Biases as progressive interpolation --------*- C++ -*-===//
#ifndef PE_RUNTIME_JIT_REPRESENT_H
#define PE_RUNTIME_JIT_REPRESENT_H

#include "runtime/jit/Compilation.h"

namespace pe::jit {

/// Rewrites the entry of a prepared program, and derives the parameters of the new program.
Expected<RepresentedProgram> represent(Compilation compilation, const EntryInfo &before,
                                       const RepresentRequest &request);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_REPRESENT_H
