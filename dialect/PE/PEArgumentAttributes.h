//===- PEArgumentAttributes.h - Axes and names of arguments -----*- C++ -*-===//
//
// `pe.axes = ["batch", "key"]` on an argument names its axes (docs/spec.md, argument-C8 and
// argument-C9). `pe.absent = "f"` makes the argument optional; argument "f" is read if it is absent
// (argument-C11).
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H
#define PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include <string>

namespace mlir::pe {

/// Returns the name in size expressions of an axis: "c" for "key". Empty for a user-defined name.
StringRef sizeOfAxis(StringRef word);
/// Like sizeOfAxis, but returns a user-defined name unchanged: it is a size of the call, which its
/// tensors determine.
std::string extentOfAxis(StringRef word);

/// Returns the axes of a function argument (`pe.axes`). Null if unspecified, and for other values.
ArrayAttr axesOf(Value value);

/// Returns the `pe.name` of a function argument; empty for other values.
StringRef nameOfArgument(Value value);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEARGUMENTATTRIBUTES_H
