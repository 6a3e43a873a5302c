//===- Formulas.h - Prints generated scalar code as formulas ----*- C++ -*-===//

#ifndef PE_TEST_FUZZ_FORMULAS_H
#define PE_TEST_FUZZ_FORMULAS_H

#include "fuzz/GeneratedProgram.h"

#include <map>

namespace pe::fuzz {

/// Prints a value with a point or an exponent, so that it is parsed as a real number. Parsing
/// returns the same value.
std::string printReal(double value);

/// The names of captured coordinates.
using CoordinateNames = std::map<const Node *, std::string>;

/// Prints scalar code by the templates of ScalarOperations.
std::string printFormula(const Program &program, const Node &node, const CoordinateNames &names);

/// Prints the condition of a MaskFn, which BiasEvaluator::allows evaluates.
std::string conditionText(int64_t kind, int64_t a);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_FORMULAS_H
