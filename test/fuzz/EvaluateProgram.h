//===- EvaluateProgram.h - A second evaluation of a program -----*- C++ -*-===//
//
// Evaluates the generator's own tree densely in long double, without code of runtime/reference, and
// compares the reference with it. Gradients are central differences of
// sum(d_o * o) + sum(d_lse * lse) along one random direction per argument.
//
// The same evaluation with noise after every rounded f32 operation shows whether a bias and its
// derivative are well conditioned: a program whose results depend on one rounding tests nothing.
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

/// Draws the parameters in their ranges. The values differ from those of `pe run --random`.
ParameterValues drawParameters(const Program &program, uint64_t seed);

/// The condition of a bias over pairs of the program's call.
struct Condition {
  /// Every operation was defined and every value finite.
  bool isDefined = true;
  /// The largest absolute value of the bias.
  double magnitude = 0.0;
  /// The error due to f32 rounding of the bias and of its derivative with respect to the parameters
  /// (relative to the largest derivative).
  double error = 0.0, derivativeError = 0.0;

  bool isGood() const;
};

/// Estimates the condition on about `pairs` pairs, spread over the call, including the corners.
Condition conditionOf(const Program &program, const Node &bias, const ParameterValues &values,
                      int pairs);

/// Returns true if every operation of the mask is defined at about `pairs` pairs.
bool isDefined(const Program &program, const Node &mask, const ParameterValues &values, int pairs);

/// Returns the elements of the program's parameters, which are found in `tensors` by name.
Expected<ParameterValues> parametersFrom(const Program &program, const TensorMap &tensors);

/// Returns the number of pairs that a dense evaluation visits.
int64_t pairsOf(const Program &program);

/// Compares the reference's results and gradients with this evaluation. The error states which
/// tensor differs and by how much.
Status checkReference(const Program &program, const TensorMap &inputs,
                      const reference::Results &results);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_EVALUATEPROGRAM_H
