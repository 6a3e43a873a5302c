//===- ArgumentNames.h - pe.name while a file is parsed ---------*- C++ -*-===//
//
// A formula may name a captured argument by its pe.name as well as by its SSA name. A formula is
// parsed inside its function, before the function has its attributes, so the name is read from the
// text of the signature:
//
//   func.func @attention(..., %ty: tensor<?x?xi32> {pe.name = "type", ...})   // "type" for %ty
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_ARGUMENTNAMES_H
#define PE_DIALECT_PE_ARGUMENTNAMES_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::pe {

/// Returns the pe.name of the function argument `value`, which the text calls `ssaName` ("%ty");
/// empty where it has none, or where the text above `here` is not that of its signature.
StringRef findNameInSignature(OpAsmParser &parser, SMLoc here, Value value, StringRef ssaName);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_ARGUMENTNAMES_H
