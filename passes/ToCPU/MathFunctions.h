//===- MathFunctions.h - elementary functions of vectors --------*- C++ -*-===//
#ifndef PE_PASSES_TOCPU_MATHFUNCTIONS_H
#define PE_PASSES_TOCPU_MATHFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::tile::cpu {

/// Returns true if `op` is a function of f32 or f64 that `createFunction` computes in vectors.
bool hasVectorForm(Operation *op);

/// Creates the function `op` of vectors of any width. Its elements have the same bits for every
/// width: they are computed in f64, and those of f32 are rounded once.
Value createFunction(OpBuilder &builder, Operation &op, ValueRange operands);

/// Lowers elementary functions of vectors to polynomials, or to libm calls per lane. A stage with
/// many uses of a function calls an outlined copy; others are inlined. Functions of scalars are
/// left to libm.
LogicalResult lowerVectorMath(ModuleOp module);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_MATHFUNCTIONS_H
