//===- PEDialect.h - The pe dialect, its types and attributes ---*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEDIALECT_H
#define PE_DIALECT_PE_PEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "dialect/PE/PEDialect.h.inc"
#include "dialect/PE/PEEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/PE/PETypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/PE/PEAttributes.h.inc"

#endif // PE_DIALECT_PE_PEDIALECT_H
