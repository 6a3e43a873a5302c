//===- Formulas.h - Generated scalar code as text ---------------*- C++ -*-===//

#ifndef PE_TEST_FUZZ_FORMULAS_H
#define PE_TEST_FUZZ_FORMULAS_H

#include "fuzz/GeneratedProgram.h"

#include <map>

namespace pe::fuzz {

/// With a point or an exponent, so that it is parsed as a real number; it round-trips exactly.
std::string printReal(double value);

/// The names of captured coordinates.
using CoordinateNames = std::map<const Node *, std::string>;

/// By the templates of ScalarOperations.
std::string printFormula(const Program &program, const Node &node, const CoordinateNames &names);

/// The condition of a MaskFn; BiasEvaluator::allows computes the same.
std::string conditionText(int64_t kind, int64_t a);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_FORMULAS_H
