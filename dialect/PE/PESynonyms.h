//===- PESynonyms.h - Names of the literature -------------------*- C++ -*-===//
//
// Encodings and patterns by the names that papers and other libraries use, and what they are here.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PESYNONYMS_H
#define PE_DIALECT_PE_PESYNONYMS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::pe {

/// Returns what the operation `name` of another vocabulary ("pe.rope", "alibi") is in pe, with an
/// example: "rope is pe.rotary, as in examples/encodings/rope.mlir"; empty for unknown names.
std::string findSynonym(llvm::StringRef name);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESYNONYMS_H
