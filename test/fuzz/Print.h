//===- Print.h - A generated program as MLIR --------------------*- C++ -*-===//

#ifndef PE_TEST_FUZZ_PRINT_H
#define PE_TEST_FUZZ_PRINT_H

#include "fuzz/GeneratedProgram.h"

namespace pe::fuzz {

/// The whole file, without a comment.
std::string printProgram(const Program &program);

/// The arguments of `pe run FILE` that reproduce the program's call: seed, shape, positions,
/// gradients.
std::string printRunOptions(const Program &program);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_PRINT_H
