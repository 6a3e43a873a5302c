//===- Compilation.h - Compilation of a source ------------------*- C++ -*-===//
#ifndef PE_RUNTIME_JIT_COMPILATION_H
#define PE_RUNTIME_JIT_COMPILATION_H

#include "passes/Pipelines/Pipelines.h"
#include "runtime/jit/Diagnostics.h"
#include "runtime/jit/JitInterface.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace pe::jit {

/// The compilation of one source. Not thread-safe, and neither are copies, which share a context.
class Compilation {
public:
  explicit Compilation(const mlir::DialectRegistry &registry);
  /// Returns a compilation that begins with a copy of the current module and of its remarks.
  Compilation copy() const { return Compilation(*this); }
  Compilation &operator=(const Compilation &) = delete;

  /// Parses a module. Its locations contain the name of the source.
  Status parse(const Source &source);
  /// Specifies when the module is verified: after every pass, for passes that may have to reject
  /// user code, or once after the conversions of generated code.
  enum class Verify { EveryPass, Once };
  /// Runs the passes that `build` adds to a pass manager.
  Status run(llvm::function_ref<void(mlir::OpPassManager &)> build,
             Verify verify = Verify::EveryPass);
  mlir::ModuleOp getModule() const { return *module; }
  const DiagnosticCollector &getDiagnostics() const { return diagnostics; }
  mlir::MLIRContext &getContext() { return *context; }
  /// Returns the first reported error, or `otherwise` if there is none.
  Error takeError(const std::string &otherwise) { return diagnostics.take(otherwise); }
  /// Prints the current module.
  std::string print();

private:
  Compilation(const Compilation &other);

  std::shared_ptr<mlir::MLIRContext> context;
  DiagnosticCollector diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Registers additional dialects, such as out-of-tree encodings, for all compilations. Must be
/// called before the first one.
void addDialects(llvm::function_ref<void(mlir::DialectRegistry &)> insert);

/// Returns the dialects, extensions and translations of the compiler, registered once per process.
const mlir::DialectRegistry &getRegistry();

/// Describes the arguments, results and attentions of the entry function of a module that the
/// prepare pipeline accepted: the function exists, and all types are ranked tensors of a DType.
EntryInfo describeEntry(mlir::ModuleOp module, const std::string &entry);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_COMPILATION_H
