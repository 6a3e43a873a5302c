//===- Attributes.h - Replacement of attributes of a source -----*- C++ -*-===//
#ifndef PE_RUNTIME_JIT_ATTRIBUTES_H
#define PE_RUNTIME_JIT_ATTRIBUTES_H

#include "runtime/jit/JitInterface.h"

#include "mlir/IR/BuiltinOps.h"

namespace pe::jit {

/// Replaces the attributes with these names on all operations of the pe dialect. Fails if no
/// operation has such an attribute, or if a value does not have its type. The caller must verify
/// the module afterwards.
Status setAttributes(mlir::ModuleOp module, const AttributeValues &values);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_ATTRIBUTES_H
