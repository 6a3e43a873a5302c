//===- ExpressionEmitter.h - Formulas to scalar IR --------------*- C++ -*-===//
//
// Emits the ops of a formula, as a user would have written them in a region. Integers (b, h, i, j,
// literals and elements of integer tensors) stay integers under + - * // % min max abs and may
// index tensors; combined with a real number they become real. Division and powers give real
// numbers, f32 unless the scope says f64. A sum over an index is a pe.sum.
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

/// What the names of a formula mean, and how to report errors in it.
struct ExpressionScope {
  /// The variables (b, h, i, j) and the tensors.
  llvm::StringMap<Value> names;
  /// Other names of tensors, and the names above that they stand for.
  llvm::StringMap<std::string> aliases;
  llvm::function_ref<Location(size_t offset)> locate;
  /// Reports an error at a character; returns failure.
  llvm::function_ref<LogicalResult(size_t offset, const llvm::Twine &message)> report;
  /// What is no tensor, for messages: "b, h, i, j".
  std::string variables;
  bool hasHeads = true;
  /// The type of real numbers; null: f32.
  FloatType real;
  /// What to write where a formula names what it does not have, such as s or j, by that name.
  llvm::StringMap<std::string> advice;
  /// What to write where the formula gives a number for a condition, or a condition for a number.
  StringRef adviceOnResult;
};

/// The value of `expression`, a real number.
FailureOr<Value> emitExpression(const Expression &expression, OpBuilder &builder,
                                const ExpressionScope &scope);
/// The i1 value of a condition.
FailureOr<Value> emitCondition(const Expression &expression, OpBuilder &builder,
                               const ExpressionScope &scope);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_EXPRESSIONEMITTER_H
