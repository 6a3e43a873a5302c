//===- PEArgumentAttributes.h - what an argument's axes count ---*- C++ -*-===//
//
// `pe.axes = ["batch", "key"]` on an argument says what its dimensions count (docs/spec.md,
// argument-C8 and argument-C9); `pe.absent = "f"` that a call may leave it out, and what is read
// then (argument-C11).
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H
#define PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include <string>

namespace mlir::pe {

/// The size, as in size expressions, of an axis with this name: "c" for "key". Empty for a
/// user-defined name.
StringRef sizeOfAxis(StringRef word);
/// The same for any axis of unknown size: another name is a size of the call, which its tensors
/// give.
std::string extentOfAxis(StringRef word);

/// What each dimension of an argument of a function counts (`pe.axes`); null if unspecified, and
/// for another value.
ArrayAttr axesOf(Value value);

/// The `pe.name` of an argument of a function; empty for another value.
StringRef nameOfArgument(Value value);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H
