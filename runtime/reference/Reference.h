//===- Reference.h - The float64 reference ----------------------*- C++ -*-===//
//
// An independent float64 implementation of a user's function: each operation of the pe dialect as
// plain loops, forward and backward. It shares no code and no maths with the compiler, so their
// agreement is evidence that both are correct.
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
#include "runtime/reference/ExportedProgram.h"
#include "runtime/reference/ReadTally.h"

#include <optional>
#include <set>

namespace pe::reference {

/// The results of an evaluation; all tensors are f64.
struct Results {
  /// The results, by the function's result names.
  TensorMap outputs;
  /// "d_NAME" for each floating argument; empty without `grad`.
  TensorMap gradients;
  /// "d_NAME" for the arguments that a bias reads: for each element the sum over pairs of
  /// |dS * db/dtheta|. The tolerance of that gradient is relative to it.
  TensorMap magnitudes;
  /// "d_NAME" for q, k and the arguments that a bias reads: for each element the size of the terms
  /// that cancel in dS, propagated to the element (root of the sum of squares over pairs). If a
  /// saturated softmax makes a gradient vanish, a legitimate rounding error is relative to this
  /// (Compare.h).
  TensorMap noise;
  /// With `rounding`, "d_NAME" for the arguments that a bias reads and for sinks: for each element
  /// the possible effect of rounding probabilities and outputs, as the root of the sum of squares
  /// of the largest errors. Another order of computation rounds differently, and in a gradient of
  /// few elements the rounding errors of this evaluation may happen to cancel.
  TensorMap rounding;
  /// For results and "d_NAME" of attentions whose normalizer amplifies errors of logits: for each
  /// element or row the size of its error if the error of each logit were as large as the terms
  /// that the logit sums. With other normalizers an error of a logit is the relative error of a
  /// weight, which the relative bound contains.
  TensorMap logitErrors;
  /// For results of attention, and "d_NAME" of its values: for each row the magnitude of the summed
  /// terms. If it is not 0 but the result is, the result is 0 by cancellation. "d_NAME" of an
  /// argument that a bias reads has one element, the noise of dS, for a gradient that is 0 because
  /// db/dtheta is.
  TensorMap terms;
  /// The largest |logit| in any attention over the pairs whose weight (the probability under
  /// softmax, or the fraction of the stick) is at least 1e-9. Under softpick the derivative of the
  /// weight counts instead, because a logit below 0 has no weight and still matters. Masked pairs
  /// do not count, including those masked by a bias such as -1e9.
  double maxLogit = 0.0;
  /// The results that are logarithms (of a row's sum or of the remaining mass).
  std::set<std::string> logarithms;
  /// Out-of-range reads of the user's code at pairs that the mask keeps.
  std::vector<OutsideRead> outsideReads;
  /// "the bias is inf at i = 0, j = 0" for the first kept pair whose score is NaN or +inf, or
  /// empty.
  std::string badScore;
};

/// Evaluation with the rounding that a computation in a narrow type cannot avoid. If `rounding` is
/// bf16 or f16, rotated queries and keys, probabilities, outputs and the gradients of q, k and v
/// are rounded to that type, and everything else stays in float64. If it is tf32, the operands of
/// contractions are rounded: queries, keys, values, probabilities and the cotangent of the outputs.
/// The bound of such a computation grows with the distance of these results from the exact ones
/// (Compare.h).
struct EvaluateOptions {
  std::optional<DType> rounding;
  /// Rounds every intermediate value of scalar code (biases, masks, score functions, factors,
  /// embeddings) to float32. Everything else stays in float64, so the distance of these results
  /// from the exact ones is the error of the formulas in float32.
  bool roundsFormulas = false;
  /// 0: one per core. Results do not depend on the number of threads.
  unsigned threads = 0;
};

/// Evaluates the function. `inputs` contains its arguments by name and, with `grad`, the cotangents
/// "d_RESULT"; absent cotangents are zero.
Expected<Results> evaluate(const Program &program, const TensorMap &inputs,
                           const Positions &positions, bool grad,
                           const EvaluateOptions &options = {});

/// Returns the number of pairs that the mask of the function's only attention keeps, over all batch
/// entries and heads, by evaluating it at each pair. `threads` is as in EvaluateOptions.
Expected<double> countPairs(const Program &program, const TensorMap &inputs,
                            const Positions &positions, unsigned threads);

/// The bias, the mask, the rotation and the MLP of the function's only attention as dense tensors,
/// in f64.
struct Materialized {
  /// The sum of the biases of each pair, masked or not: [B, Hq, Sq, Sk]; 0 without biases.
  Tensor bias;
  bool hasBias = false;
  /// 1 if attention uses the pair, otherwise 0: [B, Sq, Sk].
  Tensor allowed;
  /// The cosine and sine that rotate the query rows: [Sq, pairs]. Undefined without a rotation.
  Tensor cosine, sine;
  /// The coordinate and the value of the function's only `pe.mlp` at each pair, [B, Hq, Sq, Sk].
  /// Undefined without one.
  Tensor mlpInput, mlpValue;
};
Expected<Materialized> materialize(const Program &program, const TensorMap &inputs,
                                   const Positions &positions);

/// Evaluates the score function of the function's only attention at `scores`, for each head and
/// query of the first batch entry, with the key at the query's position (or the last key, if there
/// is none): [Hq, Sq, scores], in f64. Undefined without a score function.
Expected<Tensor> materializeScores(const Program &program, const TensorMap &inputs,
                                   const Positions &positions, const std::vector<double> &scores);

/// Returns the dense bias of the function's only attention, [B, Hq, Sq, Sk], in f64; 0 without
/// biases.
Expected<Tensor> materializeBias(const Program &program, const TensorMap &inputs,
                                 const Positions &positions);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_REFERENCE_H
