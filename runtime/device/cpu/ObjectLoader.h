//===- ObjectLoader.h - Loader of compiled ELF objects ----------*- C++ -*-===//
//
// Loads a relocatable ELF object for x86-64 as the compiler emits it: copies its sections into one
// mapping, applies the relocations, and makes code executable and constant data read-only. This
// takes microseconds, while loading LLVM to do it takes 40 ms. Cached kernels therefore start
// immediately, and packages run on machines without LLVM.
//
// Undefined symbols are resolved by findRuntimeSymbol (RuntimeSymbols.h). Unsupported features,
// such as an unknown relocation type or thread-local variables, are reported as errors.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_OBJECTLOADER_H
#define PE_RUNTIME_DEVICE_CPU_OBJECTLOADER_H

#include "runtime/core/Error.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace pe::cpu {

/// Loaded code. Its symbols are valid during its lifetime.
class LoadedCode {
public:
  LoadedCode(void *base, size_t size) : base(base), size(size) {}
  ~LoadedCode();
  LoadedCode(const LoadedCode &) = delete;
  LoadedCode &operator=(const LoadedCode &) = delete;

  /// Returns the address of a global symbol that the object defines, or null.
  void *lookup(const std::string &symbol) const;

private:
  friend class ObjectLoader;
  void *base;
  size_t size;
  std::map<std::string, void *> symbols;
};

/// Loads the object.
Expected<std::shared_ptr<LoadedCode>> loadObject(std::string_view bytes);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_OBJECTLOADER_H
