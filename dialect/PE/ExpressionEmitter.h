//===- ExpressionEmitter.h - Formulas to scalar IR --------------*- C++ -*-===//
//
// Emits the ops of a formula as a user would write them in a region. Integers (b, h, i, j, literals
// and elements of integer tensors) remain integers under + - * // % min max abs and may index
// tensors. Combined with a real number, they are converted to it. The results of division and
// powers are real numbers: f32, or f64 if the scope requires it. A sum over an index is a pe.sum.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_EXPRESSIONEMITTER_H
#define PE_DIALECT_PE_EXPRESSIONEMITTER_H

#include "dialect/PE/ExpressionScope.h"

namespace mlir::pe {

/// Emits `expression` as a real number.
FailureOr<Value> emitExpression(const Expression &expression, OpBuilder &builder,
                                const ExpressionScope &scope);
/// Emits `expression` as an i1.
FailureOr<Value> emitCondition(const Expression &expression, OpBuilder &builder,
                               const ExpressionScope &scope);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_EXPRESSIONEMITTER_H
