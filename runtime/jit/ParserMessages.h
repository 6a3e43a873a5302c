//===- ParserMessages.h - Parser messages for users of pe -------*- C++ -*-===//
//
// The messages of MLIR's parser are written for compiler engineers. The most frequent ones are
// replaced by messages for users of pe, which say what to change:
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

/// Returns the replacement of a message, or the message itself if there is none. `text` is the
/// source.
std::string rewordParserMessage(const mlir::Diagnostic &diagnostic, llvm::StringRef text);

/// Emits an error at the end of a function, or of a bias or score region, without a terminator. The
/// message of the verifier would be a dump of the last operation.
mlir::LogicalResult verifyTerminators(mlir::ModuleOp module);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_PARSERMESSAGES_H
