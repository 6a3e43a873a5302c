//===- FormulaFunctions.h - the functions of formulas -----------*- C++ -*-===//
#ifndef PE_DIALECT_PE_FORMULAFUNCTIONS_H
#define PE_DIALECT_PE_FORMULAFUNCTIONS_H

#include "mlir/IR/Builders.h"

#include <string>

namespace mlir::pe {

/// A function that formulas may call, such as exp. `build` creates the op of a unary function on
/// real numbers; null for the functions that the emitter handles itself.
struct FormulaFunction {
  StringRef name;
  unsigned arity;
  Value (*build)(OpBuilder &, Location, Value);
};

/// Returns the functions in alphabetical order.
ArrayRef<FormulaFunction> formulaFunctions();

/// Returns the function of this name, or null.
const FormulaFunction *findFormulaFunction(StringRef name);

/// Returns "; did you mean exp?", the form of a function known from another language, or an empty
/// string.
std::string adviceOnFormulaFunction(StringRef name);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_FORMULAFUNCTIONS_H
