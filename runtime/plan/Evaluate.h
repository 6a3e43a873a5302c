//===- Evaluate.h - Evaluation of formulas over arrays ----------*- C++ -*-===//
//
// Evaluates `pe.monitor` formulas during training: elementwise over the encoding's parameters, with
// scalars broadcast.
//
//   evaluate("abs(L_multiplier) * 512", {{"L_multiplier", {1.5}}})  ->  {768}
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_PLAN_EVALUATE_H
#define PE_RUNTIME_PLAN_EVALUATE_H

#include "pe/Error.h"
#include "runtime/plan/Expression.h"

#include <map>

namespace pe::plan {

/// The values of parameters by name; a scalar has one element.
using NamedArrays = std::map<std::string, std::vector<double>, std::less<>>;

/// Evaluates an expression of the operators + - * / // % ^, comparisons (1 or 0), and, or, not,
/// let, and the functions abs exp exp2 log log1p log2 sqrt sin cos tanh min max pow. Errors: an
/// unknown name or function, arrays of different lengths, an index.
Expected<std::vector<double>> evaluate(const Expression &expression, const NamedArrays &arrays);
/// Parses and evaluates `formula`.
Expected<std::vector<double>> evaluate(std::string_view formula, const NamedArrays &arrays);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_EVALUATE_H
