//===- ProgramState.h - What a Program stands for ---------------*- C++ -*-===//

#ifndef PE_RUNTIME_API_PROGRAMSTATE_H
#define PE_RUNTIME_API_PROGRAMSTATE_H

#include "pe/pe.h"
#include "runtime/api/Package.h"

namespace pe::api {

struct ProgramState {
  /// Empty text for a package.
  jit::Source source;
  std::shared_ptr<const jit::Description> description;
  /// Of a package: what it holds.
  std::shared_ptr<const Package> packaged;
};

/// From a file: a source or a package.
Expected<std::shared_ptr<const ProgramState>> loadProgram(const std::string &path,
                                                          const std::string &entry);

/// From the text of a source.
Expected<std::shared_ptr<const ProgramState>>
parseProgram(const std::string &text, const std::string &name, const std::string &entry);

/// What Program::compile does.
Expected<std::shared_ptr<const CompiledFunction>> compileProgram(const ProgramState &program,
                                                                 const CompileOptions &options);

/// The request a source makes of the compiler.
jit::CompileRequest requestOf(const ProgramState &program, const CompileOptions &options);
/// The same for a call on this machine: without a chip, cuda's is that of its GPU.
Expected<jit::CompileRequest> requestHere(const ProgramState &program,
                                          const CompileOptions &options);

/// What Program::package does. `withBias`: also the functions that write the bias of every pair
/// (Package::loadBias), about a quarter more bytes.
Expected<std::string> packageProgram(const ProgramState &program,
                                     const std::vector<CompileOptions> &targets, bool withBias);

} // namespace pe::api

#endif // PE_RUNTIME_API_PROGRAMSTATE_H
