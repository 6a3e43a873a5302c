//===- MathFunctions.h - elementary functions of vectors --------*- C++ -*-===//
#ifndef PE_PASSES_TOCPU_MATHFUNCTIONS_H
#define PE_PASSES_TOCPU_MATHFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::tile::cpu {

/// Elementary functions of vectors become polynomials, or libm
/// calls per lane: inline where a stage has few of them, else
/// outlined into a function. Those of scalars are left to libm.
LogicalResult lowerVectorMath(ModuleOp module);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_MATHFUNCTIONS_H
