//===- EvaluateProgram.h - A second evaluation of a program -----*- C++ -*-===//
//
// Evaluates the generator's own tree, densely and in long double, with no code of
// runtime/reference: the reference is compared with it. Gradients are central differences of
// sum(d_o * o) + sum(d_lse * lse) along one random direction per argument.
//
// The same walk with a little noise after every rounded f32 operation says whether a bias and its
// derivative are well conditioned: a program whose results depend on one rounding proves nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_EVALUATEPROGRAM_H
#define PE_TEST_FUZZ_EVALUATEPROGRAM_H

#include "fuzz/GeneratedProgram.h"
#include "pe/Error.h"
#include "pe/Tensor.h"
#include "runtime/reference/Reference.h"

namespace pe::fuzz {

/// The elements of every parameter, row-major.
using ParameterValues = std::vector<std::vector<long double>>;

/// Drawn as Parameter says, though not with the numbers that `pe run --random` draws.
ParameterValues drawParameters(const Program &program, uint64_t seed);

/// The condition of a bias over pairs of the program's call.
struct Condition {
  /// Every operation was defined and every value finite.
  bool isDefined = true;
  /// The largest |bias|.
  double magnitude = 0.0;
  /// How far f32 rounding moves the bias, and its derivative with respect to the parameters
  /// (relative to the largest).
  double error = 0.0, derivativeError = 0.0;

  bool isGood() const;
};

/// Uses at most about `pairs` pairs, spread over the call, including the corners.
Condition conditionOf(const Program &program, const Node &bias, const ParameterValues &values,
                      int pairs);

/// Whether every operation of the mask is defined at about `pairs` pairs.
bool isDefined(const Program &program, const Node &mask, const ParameterValues &values, int pairs);

/// The elements of the program's parameters among named tensors.
Expected<ParameterValues> parametersFrom(const Program &program, const TensorMap &tensors);

/// The number of pairs that a dense evaluation visits.
int64_t pairsOf(const Program &program);

/// Compares the reference's results and gradients with this evaluation; the error says which tensor
/// differs and by how much.
Status checkReference(const Program &program, const TensorMap &inputs,
                      const reference::Results &results);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_EVALUATEPROGRAM_H
