//===- PEScalars.h - Scalar ops used inside regions ----------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PESCALARS_H
#define PE_DIALECT_PE_PESCALARS_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEScalars.h.inc"

#endif // PE_DIALECT_PE_PESCALARS_H
