//===- FunctionForms.h - Functions of other languages -----------*- C++ -*-===//
//
// The functions of NumPy, PyTorch and C that formulas do not have, and how each is written:
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
  /// A formula that computes it, of x, or of a and b; or, where there is none, what to do instead.
  /// Formulas also name low, high, condition and table.
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
