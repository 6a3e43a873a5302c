//===- Generate.h - A program from a seed -----------------------*- C++ -*-===//
//
// Compositions of every coordinate, bias, rotation, mask and normalizer, regions and formulas of
// random scalar code, and a call: sizes and starts. The same seed gives the same program.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_GENERATE_H
#define PE_TEST_FUZZ_GENERATE_H

#include "fuzz/GeneratedProgram.h"

namespace pe::fuzz {

/// The biases are well conditioned on the parameters of drawParameters.
Program generateProgram(uint64_t seed);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_GENERATE_H
