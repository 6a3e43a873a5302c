//===- Reference.h - The float64 reference ----------------------*- C++ -*-===//
//
// An independent float64 implementation of a user's function: every operation of the pe dialect by
// plain loops, forward and backward. It shares no code and no maths with the compiler, so their
// agreement is evidence.
//
//   auto program = parseProgram(description.program);
//   auto results = evaluate(*program, tensors, positions, /*grad=*/true);
//   results->outputs.at("o");          // f64 tensor
//   results->gradients.at("d_slopes");
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_REFERENCE_H
#define PE_RUNTIME_REFERENCE_REFERENCE_H

#include "pe/Positions.h"
#include "runtime/core/Tensor.h"
#include "runtime/reference/Program.h"
#include "runtime/reference/ReadTally.h"

#include <optional>
#include <set>

namespace pe::reference {

/// Everything in f64.
struct Results {
  /// By the function's result names.
  TensorMap outputs;
  /// "d_NAME" for every floating argument; empty without `grad`.
  TensorMap gradients;
  /// "d_NAME" for the arguments that a bias reads: per element the sum over pairs of
  /// |dS * db/dtheta|, which the tolerance of that gradient is relative to.
  TensorMap magnitudes;
  /// "d_NAME" for q, k and the arguments that a bias reads: per element the size of the terms that
  /// cancel in dS, chained to the element (root of the sum of squares over pairs). Where a
  /// saturated softmax makes a gradient vanish, a legitimate rounding error is relative to this
  /// (Compare.h).
  TensorMap noise;
  /// With `rounding`, "d_NAME" for the arguments that a bias reads, and sinks: per element how far
  /// rounding probabilities and outputs may move it, as the root of the sum of squares of the
  /// largest errors. The roundings of another order of computation are others, and in a gradient of
  /// few elements those of this evaluation may happen to cancel.
  TensorMap rounding;
  /// Results of attention and "d_NAME" of its values: per row the magnitude of the summed terms.
  /// Where it is not 0 but the result is, the result is 0 by cancellation. "d_NAME" of what a bias
  /// reads: one number, the noise of dS, for a gradient that is 0 because db/dtheta is.
  TensorMap terms;
  /// The largest |logit| in any attention, over the pairs whose weight (the probability under
  /// softmax, or the fraction of the stick) is at least 1e-9: masked pairs do not count, nor do
  /// those that a bias such as -1e9 masks.
  double maxLogit = 0.0;
  /// The results that are logarithms (of a row's sum or of the mass that is left).
  std::set<std::string> logarithms;
  /// Reads of the user's own code outside of their axes, at pairs that the mask keeps.
  std::vector<OutsideRead> outsideReads;
  /// "the bias is inf at i = 0, j = 0": the first kept pair whose score is NaN or +inf; or empty.
  std::string badScore;
};

/// The rounding that a computation in a narrow type cannot avoid: with `rounding` to bf16 or f16,
/// rotated queries and keys, probabilities, the outputs and the gradients of q, k and v are rounded
/// to that type, and everything else stays in float64; with tf32 the operands of contractions are:
/// queries, keys, values, probabilities and the cotangent of the outputs. Such a computation is
/// judged by the distance of these results from the exact ones (Compare.h).
struct EvaluateOptions {
  std::optional<DType> rounding;
  /// Rounds every intermediate value of scalar code (biases, masks, functions of scores, factors,
  /// embeddings) to float32. Everything else stays in float64: the distance of these results from
  /// the exact ones is what the formulas themselves lose in float32.
  bool roundsFormulas = false;
  /// 0: one per core; results do not depend on it.
  unsigned threads = 0;
};

/// Evaluates the function. `inputs` holds its arguments by name, and with `grad` the cotangents
/// "d_RESULT" (absent: zero).
Expected<Results> evaluate(const Program &program, const TensorMap &inputs,
                           const Positions &positions, bool grad,
                           const EvaluateOptions &options = {});

/// How many pairs of the function's only attention its mask leaves, over all batch entries and
/// heads, by evaluating it at every pair. `threads` as in EvaluateOptions.
Expected<double> countPairs(const Program &program, const TensorMap &inputs,
                            const Positions &positions, unsigned threads);

/// What the function's only attention does with its scores, in f64.
struct Materialized {
  /// The sum of the biases of every pair, masked or not: [B, Hq, Sq, Sk]; 0 without biases.
  Tensor bias;
  bool hasBias = false;
  /// 1 where attention takes the pair into account, else 0: [B, Sq, Sk].
  Tensor allowed;
  /// What a query's row is rotated by: [Sq, pairs]. Undefined without a rotation.
  Tensor cosine, sine;
  /// Of the function's only `pe.mlp`: its coordinate and its value at every pair, [B, Hq, Sq, Sk].
  /// Undefined without one.
  Tensor mlpInput, mlpValue;
};
Expected<Materialized> materialize(const Program &program, const TensorMap &inputs,
                                   const Positions &positions);

/// The function of the score that the function's only attention has: its values at `scores` for
/// every head and query of the first batch entry, with the key at the query's own position (the
/// last key, if there is none): [Hq, Sq, scores], in f64. Undefined without such a function.
Expected<Tensor> materializeScores(const Program &program, const TensorMap &inputs,
                                   const Positions &positions, const std::vector<double> &scores);

/// The dense bias of the function's only attention, [B, Hq, Sq, Sk], in f64; 0 without biases.
Expected<Tensor> materializeBias(const Program &program, const TensorMap &inputs,
                                 const Positions &positions);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_REFERENCE_H
