//===- JitLibrary.h - Loading of the compiler library -----------*- C++ -*-===//
//
// libpe-jit.so is expected in the directory of the library or executable that contains this code,
// or in ../lib relative to it. It is loaded only when something must be compiled, because loading
// it together with LLVM takes 50 ms.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_JITLIBRARY_H
#define PE_RUNTIME_API_JITLIBRARY_H

#include "runtime/jit/JitInterface.h"

#include <memory>
#include <string>

namespace pe::api {

/// Provides the compiler. Tests substitute another one.
class JitProvider {
public:
  virtual ~JitProvider() = default;
  /// Loads the compiler on the first call; it stays loaded.
  virtual Expected<jit::Jit *> get() = 0;
  /// Returns a string that changes whenever the compiler or its LLVM does. Does not load the
  /// compiler if `previous` (the result of an earlier process, or empty) is still valid.
  virtual Expected<std::string> identity(const std::string &previous) = 0;
  /// Returns the location of the compiler, which is the cache key of its identity.
  virtual std::string place() = 0;
};

/// Creates the provider that loads libpe-jit.so.
std::unique_ptr<JitProvider> makeJitLibrary();

} // namespace pe::api

#endif // PE_RUNTIME_API_JITLIBRARY_H
