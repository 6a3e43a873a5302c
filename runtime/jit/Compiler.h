//===- Compiler.h - source to plan and object ---===//
#ifndef PE_RUNTIME_JIT_COMPILER_H
#define PE_RUNTIME_JIT_COMPILER_H

#include "passes/Pipelines/Pipelines.h"
#include "runtime/jit/Diagnostics.h"
#include "runtime/jit/JitInterface.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace pe::jit {

/// One source on its way through the pipelines. Not shared between threads.
class Compilation {
public:
  explicit Compilation(const mlir::DialectRegistry &registry);

  /// Parses a module; its locations refer to the source's name.
  Status parse(const Source &source);
  /// When modules are verified: behind every pass, which may have to refuse what the user wrote, or
  /// once, behind the conversions of code that is ours.
  enum class Verify { EveryPass, Once };
  /// Runs what `build` adds to a pass manager.
  Status run(llvm::function_ref<void(mlir::OpPassManager &)> build,
             Verify verify = Verify::EveryPass);
  mlir::ModuleOp getModule() { return *module; }
  const DiagnosticCollector &getDiagnostics() const { return diagnostics; }
  mlir::MLIRContext &getContext() { return context; }
  /// The error reported so far, or `otherwise`.
  Error takeError(const std::string &otherwise) { return diagnostics.take(otherwise); }
  /// The text of the module as it is now.
  std::string print();

private:
  mlir::MLIRContext context;
  DiagnosticCollector diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Adds dialects of encodings from outside to those of every compilation, before the first one.
void addDialects(llvm::function_ref<void(mlir::DialectRegistry &)> insert);

/// The dialects, extensions and translations of the compiler, registered once per process.
const mlir::DialectRegistry &getRegistry();

/// Arguments and results of the module's entry function.
Expected<EntryInfo> describeEntry(mlir::ModuleOp module, const std::string &entry);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_COMPILER_H
