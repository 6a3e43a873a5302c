//===- Print.h - Prints a generated program as MLIR -------------*- C++ -*-===//

#ifndef PE_TEST_FUZZ_PRINT_H
#define PE_TEST_FUZZ_PRINT_H

#include "fuzz/GeneratedProgram.h"

namespace pe::fuzz {

/// Prints the entire file, without comments.
std::string printProgram(const Program &program);

/// Prints the arguments of `pe run FILE` that reproduce the program's call: seed, shape, positions
/// and gradients.
std::string printRunOptions(const Program &program);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_PRINT_H
