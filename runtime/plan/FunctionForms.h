//===- FunctionForms.h - Functions of other languages -----------*- C++ -*-===//
//
// The functions of NumPy, PyTorch and C that formulas lack, each with its replacement:
//
//   acosh     log(x + sqrt(x * x - 1))
//   lgamma    not available; a captured table holds its values
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_PLAN_FUNCTIONFORMS_H
#define PE_RUNTIME_PLAN_FUNCTIONFORMS_H

#include <span>
#include <string>
#include <string_view>

namespace pe::plan {

/// A function that formulas do not have.
struct FunctionForm {
  std::string_view name;
  /// A formula in x, or in a and b, that computes the function or, if there is none, advice on what
  /// to use instead. Formulas also use the names low, high, condition and table.
  std::string_view text;
  bool isFormula = true;
};

/// Returns the table, for tests.
std::span<const FunctionForm> functionForms();

/// Returns the row of a function, or null.
const FunctionForm *findFunctionForm(std::string_view name);

/// Returns what to write instead of a function: "write log(x) / log(2)" for log2, a sentence for
/// one that formulas cannot compute, or nothing for a name that is not in the table.
std::string adviceOnFunction(std::string_view name);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_FUNCTIONFORMS_H
