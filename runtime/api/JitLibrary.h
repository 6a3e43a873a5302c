//===- JitLibrary.h - Finding and loading the compiler ----------*- C++ -*-===//
//
// libpe-jit.so lies beside the library or program that holds this code (or in ../lib from a
// program). It is loaded only when something must be compiled: with LLVM that takes 50 ms.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_JITLIBRARY_H
#define PE_RUNTIME_API_JITLIBRARY_H

#include "runtime/jit/JitInterface.h"

#include <memory>
#include <string>

namespace pe::api {

/// Where the compiler comes from; tests substitute another one.
class JitProvider {
public:
  virtual ~JitProvider() = default;
  /// Loads the compiler on the first call; it stays loaded.
  virtual Expected<jit::Jit *> get() = 0;
  /// A text that changes whenever the compiler or its LLVM does. Found without loading the compiler
  /// if `previous` (what this function returned in an earlier process, or empty) is still valid.
  virtual Expected<std::string> identity(const std::string &previous) = 0;
  /// A name for this compiler's location, under which its identity is cached.
  virtual std::string place() = 0;
};

/// The provider that loads libpe-jit.so.
std::unique_ptr<JitProvider> makeJitLibrary();

} // namespace pe::api

#endif // PE_RUNTIME_API_JITLIBRARY_H
