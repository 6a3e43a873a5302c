//===- PEMasks.h - Masks -------------------------------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEMASKS_H
#define PE_DIALECT_PE_PEMASKS_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEMasks.h.inc"

#endif // PE_DIALECT_PE_PEMASKS_H
