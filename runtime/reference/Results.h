//===- Results.h - The results of an evaluation, and its options ---*- C++ -*-===//
#ifndef PE_RUNTIME_REFERENCE_RESULTS_H
#define PE_RUNTIME_REFERENCE_RESULTS_H

#include "runtime/core/Tensor.h"
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

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_RESULTS_H
