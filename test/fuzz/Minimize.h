//===- Minimize.h - Smaller programs that fail alike ------------*- C++ -*-===//

#ifndef PE_TEST_FUZZ_MINIMIZE_H
#define PE_TEST_FUZZ_MINIMIZE_H

#include "fuzz/GeneratedProgram.h"

#include <functional>

namespace pe::fuzz {

/// Programs one step simpler than this one, the largest steps first: without a bias, the rotation
/// or the mask; with a node's child or a leaf in the node's place; with smaller sizes and starts.
/// Every chain of steps ends.
std::vector<Program> simplerPrograms(const Program &program);

/// Takes steps as long as `fails` says that the program still fails in the same way.
Program minimize(Program program, const std::function<bool(const Program &)> &fails);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_MINIMIZE_H
