//===- Diagnostics.h - MLIR's diagnostics as pe errors ---===//
#ifndef PE_RUNTIME_JIT_DIAGNOSTICS_H
#define PE_RUNTIME_JIT_DIAGNOSTICS_H

#include "pe/Error.h"

#include "mlir/IR/Diagnostics.h"

namespace pe::jit {

/// During its lifetime, keeps the first error of a context with its notes, and every remark and
/// warning.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);
  /// The source that is being parsed; empty afterwards.
  void setSource(llvm::StringRef text) { source = text; }
  /// The error, or `otherwise` where none was reported.
  Error take(const std::string &otherwise);
  /// "FILE:LINE:COL: text" of each remark so far, "FILE:LINE:COL: warning: text" of each warning.
  const std::vector<std::string> &getRemarks() const { return remarks; }

private:
  std::optional<Error> first;
  std::vector<std::string> remarks;
  llvm::StringRef source;
  mlir::ScopedDiagnosticHandler handler;
};

/// "FILE:LINE:COL" of the innermost place in a file, or empty.
std::string placeOf(mlir::Location location);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_DIAGNOSTICS_H
