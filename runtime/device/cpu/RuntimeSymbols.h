//===- RuntimeSymbols.h - Functions that compiled code may call -*- C++ -*-===//
//
// The functions that a compiled object may refer to by name: pe's own, listed in
// RuntimeSymbols.cpp, and the C library.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_RUNTIMESYMBOLS_H
#define PE_RUNTIME_DEVICE_CPU_RUNTIMESYMBOLS_H

#include <string>

namespace pe::cpu {

/// Returns the address of the function, or null if it is unknown.
void *findRuntimeSymbol(const std::string &name);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_RUNTIMESYMBOLS_H
