//===- PEEmbeddings.h - Embeddings added to tokens -------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEEMBEDDINGS_H
#define PE_DIALECT_PE_PEEMBEDDINGS_H

#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/PE/PEEmbeddings.h.inc"

#endif // PE_DIALECT_PE_PEEMBEDDINGS_H
