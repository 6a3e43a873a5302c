//===- Generate.h - Generates a program from a seed -------------*- C++ -*-===//
//
// Composes coordinates, biases, rotations, masks, normalizers, and regions and formulas of random
// scalar code, and draws the sizes and starts of a call. The same seed gives the same program.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_GENERATE_H
#define PE_TEST_FUZZ_GENERATE_H

#include "fuzz/GeneratedProgram.h"

namespace pe::fuzz {

/// Generates a program whose biases are well conditioned on the parameters of drawParameters.
Program generateProgram(uint64_t seed);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_GENERATE_H
