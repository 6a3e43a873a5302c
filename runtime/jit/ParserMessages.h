//===- ParserMessages.h - the parser's messages in words of pe ---===//
//
// MLIR's parser speaks to compiler engineers. The messages that users of pe meet most often are
// reworded for them, with what to change:
//
//   custom op 'pe.distence' is unknown
//   ==> unknown operation 'pe.distence'; did you mean 'pe.distance'?
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_JIT_PARSERMESSAGES_H
#define PE_RUNTIME_JIT_PARSERMESSAGES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace pe::jit {

/// The reworded message, or the original where there is no better one. `text` is the source.
std::string rewordParserMessage(const mlir::Diagnostic &diagnostic, llvm::StringRef text);

/// An error at the end of a function or a bias region that does not return or yield. The verifier's
/// own message is a dump of the last operation.
mlir::LogicalResult verifyTerminators(mlir::ModuleOp module);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_PARSERMESSAGES_H
