//===- ExpressionScope.h - The names of a formula ---------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_EXPRESSIONSCOPE_H
#define PE_DIALECT_PE_EXPRESSIONSCOPE_H

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

} // namespace mlir::pe

#endif // PE_DIALECT_PE_EXPRESSIONSCOPE_H
