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

/// Returns the name in `known` that is closest to the misspelt `name`; empty if none is close.
StringRef findNearestName(StringRef name, ArrayRef<StringRef> known);

/// Parses one of `names`. Reports any other word, with the closest name.
FailureOr<std::string> parseName(AsmParser &parser, ArrayRef<StringRef> names);
/// Parses the name of a case of an enum.
template <typename Enum>
FailureOr<Enum> parseEnum(AsmParser &parser, std::optional<Enum> (*symbolize)(StringRef),
                          std::initializer_list<StringRef> names) {
  FailureOr<std::string> name = parseName(parser, ArrayRef(names));
  if (failed(name))
    return failure();
  return *symbolize(*name);
}

/// Reports an attribute that `op` does not define and that lacks another dialect's prefix.
LogicalResult verifyDefinedAttributes(Operation *op);

/// The trait of all pe ops that makes a misspelt attribute an error. Without it, the default would
/// silently apply.
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

/// Returns true if `value`, an f64 attribute, is finite in f32, in which it is used.
inline bool isFiniteInF32(double value) {
  return std::abs(value) <= std::numeric_limits<float>::max();
}

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEDIALECT_H
