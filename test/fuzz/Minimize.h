//===- Minimize.h - Reduces failing programs --------------------*- C++ -*-===//

#ifndef PE_TEST_FUZZ_MINIMIZE_H
#define PE_TEST_FUZZ_MINIMIZE_H

#include "fuzz/GeneratedProgram.h"

#include <functional>

namespace pe::fuzz {

/// Returns the programs that are one step simpler, largest steps first: a bias, the rotation or the
/// mask removed, a node replaced by its child or by a leaf, smaller sizes and starts. Every chain
/// of steps is finite.
std::vector<Program> simplerPrograms(const Program &program);

/// Simplifies the program as long as `fails` returns true, which means that it still fails in the
/// same way.
Program minimize(Program program, const std::function<bool(const Program &)> &fails);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_MINIMIZE_H
