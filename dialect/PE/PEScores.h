//===- PEScores.h - Score functions ----------------------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PESCORES_H
#define PE_DIALECT_PE_PESCORES_H

#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEScores.h.inc"

#endif // PE_DIALECT_PE_PESCORES_H
