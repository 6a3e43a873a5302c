//===- PEAttention.h - The op that consumes encodings --------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEATTENTION_H
#define PE_DIALECT_PE_PEATTENTION_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "dialect/PE/PENormalizer.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::pe {
/// Attribute of an attention into whose formulas pe-place-positions has substituted positions from
/// data. It describes these positions in words.
inline constexpr llvm::StringLiteral kPositionsAttr = "pe.positions";
} // namespace mlir::pe

#define GET_OP_CLASSES
#include "dialect/PE/PEAttention.h.inc"

#endif // PE_DIALECT_PE_PEATTENTION_H
