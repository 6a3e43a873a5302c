//===- PEArgumentAttributes.h - what an argument's axes count ---*- C++ -*-===//
//
// `pe.axes = ["batch", "key"]` on an argument says what its dimensions count (docs/spec.md,
// argument-C8 to argument-C10).
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H
#define PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H

#include "mlir/Support/LLVM.h"

namespace mlir::pe {

/// The size, as in size expressions, of an axis with this name: "c" for "key". Empty for a
/// user-defined name.
StringRef sizeOfAxis(StringRef word);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H
