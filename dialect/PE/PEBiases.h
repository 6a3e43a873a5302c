//===- PEBiases.h - Additive biases --------------------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEBIASES_H
#define PE_DIALECT_PE_PEBIASES_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEBiases.h.inc"

#endif // PE_DIALECT_PE_PEBIASES_H
