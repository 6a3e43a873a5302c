//===- PEDialect.h - The pe dialect, its types and attributes ---*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEDIALECT_H
#define PE_DIALECT_PE_PEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include <cmath>
#include <limits>

namespace mlir::pe {

/// The name in `known` that `name` most likely misspells, or empty.
StringRef findNearestName(StringRef name, ArrayRef<StringRef> known);

/// Reports an attribute that `op` does not define and that has no other dialect's prefix.
LogicalResult verifyDefinedAttributes(Operation *op);

/// Every pe op has this trait: a misspelt attribute is an error, not the default of the right one.
template <typename ConcreteType>
struct DefinedAttributes : OpTrait::TraitBase<ConcreteType, DefinedAttributes> {
  static LogicalResult verifyTrait(Operation *op) { return verifyDefinedAttributes(op); }
};

} // namespace mlir::pe

#include "dialect/PE/PEDialect.h.inc"
#include "dialect/PE/PEEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/PE/PETypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/PE/PEAttributes.h.inc"

namespace mlir::pe {

/// Number attributes are f64 but used as f32: is `value` finite there?
inline bool isFiniteInF32(double value) {
  return std::abs(value) <= std::numeric_limits<float>::max();
}

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEDIALECT_H
