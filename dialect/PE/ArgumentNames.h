//===- ArgumentNames.h - pe.name during parsing -----------------*- C++ -*-===//
//
// A formula may refer to a captured argument by its pe.name or by its SSA name. A formula is parsed
// inside its function, before the function has its attributes, so the name is read from the source
// of the signature:
//
//   func.func @attention(..., %ty: tensor<?x?xi32> {pe.name = "type", ...})   // "type" for %ty
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_ARGUMENTNAMES_H
#define PE_DIALECT_PE_ARGUMENTNAMES_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::pe {

/// Returns the pe.name of the function argument `value`, whose name in the source is `ssaName`
/// ("%ty"). Empty if it has no pe.name, or if its signature is not in the source before `here`.
StringRef findNameInSignature(OpAsmParser &parser, SMLoc here, Value value, StringRef ssaName);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_ARGUMENTNAMES_H
