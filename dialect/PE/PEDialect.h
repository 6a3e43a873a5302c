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

#include "dialect/PE/PEDialect.h.inc"
#include "dialect/PE/PEEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/PE/PETypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/PE/PEAttributes.h.inc"

namespace mlir::pe {

/// Number attributes are f64 and are used in f32: is `value` a number there?
inline bool isFiniteInF32(double value) {
  return std::abs(value) <= std::numeric_limits<float>::max();
}

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEDIALECT_H
