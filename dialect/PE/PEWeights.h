//===- PEWeights.h - Factors on weights, and sinks -------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEWEIGHTS_H
#define PE_DIALECT_PE_PEWEIGHTS_H

#include "dialect/PE/PEInterfaces.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEWeights.h.inc"

#endif // PE_DIALECT_PE_PEWEIGHTS_H
