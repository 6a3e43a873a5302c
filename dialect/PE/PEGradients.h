//===- PEGradients.h - Derivatives at the pe level --------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEGRADIENTS_H
#define PE_DIALECT_PE_PEGRADIENTS_H

#include "dialect/PE/PEAttention.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEGradients.h.inc"

#endif // PE_DIALECT_PE_PEGRADIENTS_H
