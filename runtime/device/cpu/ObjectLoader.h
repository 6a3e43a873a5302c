//===- ObjectLoader.h - Compiled code into memory ---------------*- C++ -*-===//
//
// Loads a relocatable ELF object for x86-64 as the compiler emits it: copies its sections into one
// mapping, applies the relocations, makes code executable and constant data read-only. Loading LLVM
// to do this takes 40 ms, this takes microseconds; it lets a cached kernel start at once and
// packages run on machines without LLVM.
//
// Undefined symbols are looked up by findRuntimeSymbol (RuntimeSymbols.h). Anything this
// loader does not know (a relocation, a thread-local variable) is an error that names it.
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

/// Code in memory; symbols stay valid while it lives.
class LoadedCode {
public:
  LoadedCode(void *base, size_t size) : base(base), size(size) {}
  ~LoadedCode();
  LoadedCode(const LoadedCode &) = delete;
  LoadedCode &operator=(const LoadedCode &) = delete;

  /// The address of a global symbol the object defines, or null.
  void *lookup(const std::string &symbol) const;

private:
  friend class ObjectLoader;
  void *base;
  size_t size;
  std::map<std::string, void *> symbols;
};

/// `extra` is tried first for undefined symbols; it returns null for unknown ones.
using SymbolSource = void *(*)(const std::string &name);
Expected<std::shared_ptr<LoadedCode>> loadObject(std::string_view bytes,
                                                 SymbolSource extra = nullptr);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_OBJECTLOADER_H
