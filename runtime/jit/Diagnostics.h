//===- Diagnostics.h - MLIR diagnostics as pe errors ------------*- C++ -*-===//
#ifndef PE_RUNTIME_JIT_DIAGNOSTICS_H
#define PE_RUNTIME_JIT_DIAGNOSTICS_H

#include "pe/Error.h"

#include "mlir/IR/Diagnostics.h"

namespace pe::jit {

/// Records the diagnostics of a context during its lifetime: the first error with its notes, and
/// every remark and warning.
class DiagnosticCollector {
public:
  /// Begins with the remarks `earlier`. Of several collectors of a context the newest records.
  explicit DiagnosticCollector(mlir::MLIRContext *context, std::vector<std::string> earlier = {});
  /// Sets the source that is being parsed; empty afterwards.
  void setSource(llvm::StringRef text) { source = text; }
  /// Returns the first error, or `otherwise` if none was reported.
  Error take(const std::string &otherwise);
  /// Returns the remarks as "FILE:LINE:COL: text" and warnings as "FILE:LINE:COL: warning: text".
  const std::vector<std::string> &getRemarks() const { return remarks; }

private:
  std::optional<Error> first;
  std::vector<std::string> remarks;
  llvm::StringRef source;
  mlir::ScopedDiagnosticHandler handler;
};

/// Returns "FILE:LINE:COL" of the first file location inside `location`, or an empty string.
std::string placeOf(mlir::Location location);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_DIAGNOSTICS_H
