//===- PEContents.h - Terms that depend on queries and distances -*- C++ -*-===//
#ifndef PE_DIALECT_PE_PECONTENTS_H
#define PE_DIALECT_PE_PECONTENTS_H

#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEContents.h.inc"

#endif // PE_DIALECT_PE_PECONTENTS_H
