//===- PECoordinates.h - Coordinates of a (query, key) pair --*- C++ -*-===//
#ifndef PE_DIALECT_PE_PECOORDINATES_H
#define PE_DIALECT_PE_PECOORDINATES_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PECoordinates.h.inc"

#endif // PE_DIALECT_PE_PECOORDINATES_H
