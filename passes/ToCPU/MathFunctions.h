//===- MathFunctions.h - elementary functions of vectors --------*- C++ -*-===//
#ifndef PE_PASSES_TOCPU_MATHFUNCTIONS_H
#define PE_PASSES_TOCPU_MATHFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::tile::cpu {

/// Lowers elementary functions of vectors to polynomials, or to libm calls per lane. A stage with
/// many uses of a function calls an outlined copy; others are inlined. Functions of scalars are
/// left to libm.
LogicalResult lowerVectorMath(ModuleOp module);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_MATHFUNCTIONS_H
