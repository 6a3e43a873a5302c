//===- PESynonyms.h - Names from the literature -----------------*- C++ -*-===//
//
// Maps names of encodings and patterns in papers and other libraries to operations of pe.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PESYNONYMS_H
#define PE_DIALECT_PE_PESYNONYMS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::pe {

/// Returns the pe equivalent of a name from the literature ("pe.rope", "alibi"), with an example:
/// "rope is pe.rotary, as in examples/encodings/rope.mlir". Empty for unknown names.
std::string findSynonym(llvm::StringRef name);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESYNONYMS_H
