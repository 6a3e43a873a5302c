//===- Attributes.h - Other values for attributes of a source ---*- C++ -*-===//
#ifndef PE_RUNTIME_JIT_ATTRIBUTES_H
#define PE_RUNTIME_JIT_ATTRIBUTES_H

#include "runtime/jit/JitInterface.h"

#include "mlir/IR/BuiltinOps.h"

namespace pe::jit {

/// Gives every operation of the pe dialect that has an attribute of one of these names the value
/// instead. An error if no operation has it, or if the value is not of its type. The module is to
/// be verified afterwards.
Status setAttributes(mlir::ModuleOp module, const AttributeValues &values);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_ATTRIBUTES_H
