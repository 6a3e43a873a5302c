//===- ProgramState.h - State of a Program ----------------------*- C++ -*-===//

#ifndef PE_RUNTIME_API_PROGRAMSTATE_H
#define PE_RUNTIME_API_PROGRAMSTATE_H

#include "pe/pe.h"
#include "runtime/api/Package.h"

namespace pe::api {

struct ProgramState {
  /// The source; its text is empty for a package.
  jit::Source source;
  std::shared_ptr<const jit::Description> description;
  /// The package, or null for a source.
  std::shared_ptr<const Package> packaged;
  /// The outcome of checkLengths (Lengths.h).
  struct Lengths {
    std::once_flag once;
    Status status;
  };
  std::shared_ptr<Lengths> lengths = std::make_shared<Lengths>();
};

/// Loads a source or a package from a file.
Expected<std::shared_ptr<const ProgramState>> loadProgram(const std::string &path,
                                                          const std::string &entry);

/// Parses a source.
Expected<std::shared_ptr<const ProgramState>>
parseProgram(const std::string &text, const std::string &name, const std::string &entry);

/// Implements Program::compile.
Expected<std::shared_ptr<const CompiledFunction>> compileProgram(const ProgramState &program,
                                                                 const CompileOptions &options);

/// Returns the request to compile the program with these options.
jit::CompileRequest requestOf(const ProgramState &program, const CompileOptions &options);
/// Returns the request for this machine. For cuda without a chip, selects the chip of its GPU.
Expected<jit::CompileRequest> requestHere(const ProgramState &program,
                                          const CompileOptions &options);

/// Implements Program::package. With `withBias`, the package also contains the functions that
/// compute the bias of every pair (Package::loadBias), which makes it about a quarter larger.
Expected<std::string> packageProgram(const ProgramState &program,
                                     const std::vector<CompileOptions> &targets, bool withBias);

} // namespace pe::api

#endif // PE_RUNTIME_API_PROGRAMSTATE_H
