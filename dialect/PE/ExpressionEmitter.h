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

#include "mlir/IR/Builders.h"
#include "runtime/plan/Expression.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pe {

using ::pe::plan::Expression;

/// The names that a formula may use, and how to report errors in it.
struct ExpressionScope {
  /// The variables (b, h, i, j) and the tensors.
  llvm::StringMap<Value> names;
  /// Alternative names of tensors, mapped to keys of `names`.
  llvm::StringMap<std::string> aliases;
  llvm::function_ref<Location(size_t offset)> locate;
  /// Reports an error at a character; returns failure.
  llvm::function_ref<LogicalResult(size_t offset, const llvm::Twine &message)> report;
  /// The names that are not tensors, for messages: "b, h, i, j".
  std::string variables;
  bool hasHeads = true;
  /// The type of real numbers; f32 if null.
  FloatType real;
  /// Advice on names that the formula does not have, such as s or j.
  llvm::StringMap<std::string> advice;
  /// Advice on a formula that is a number instead of a condition, or a condition instead of a
  /// number.
  StringRef adviceOnResult;
};

/// Emits `expression` as a real number.
FailureOr<Value> emitExpression(const Expression &expression, OpBuilder &builder,
                                const ExpressionScope &scope);
/// Emits `expression` as an i1.
FailureOr<Value> emitCondition(const Expression &expression, OpBuilder &builder,
                               const ExpressionScope &scope);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_EXPRESSIONEMITTER_H
