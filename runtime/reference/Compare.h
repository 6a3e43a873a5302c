//===- Compare.h - Judging results against the reference --------*- C++ -*-===//
//
// The metric and the tolerances of docs/contract.md, stated once. For a tensor x with reference r,
//
//   error = |x - r|           (Euclidean norm over all elements)
//   bound = relative * |r| + magnitude * |M|
//
// where M, for a parameter gradient, is the sum over pairs of |dS * db/dtheta| and 0 otherwise.
// A computation in bf16, f16 or tf32 may be twice as far from r as float64 with the rounding that
// the type demands (EvaluateOptions::rounding): the bound grows by 2 |rounded - r|.
//
// Both factors grow with 4 * 2^-24 * max|logit|. The bound is at least 8 * 2^-24 * |noise|
// (Reference.h), for bf16, f16 and tf32 1/8 of their unit roundoff (2^-8, 2^-11) times it, which
// matters only where a gradient vanishes by saturation and one rounding decides; and 0 where the
// reference is 0 and nothing cancelled: then x must be 0 exactly.
// Every element must be finite where the reference is; an infinite reference must be met exactly.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_COMPARE_H
#define PE_RUNTIME_REFERENCE_COMPARE_H

#include "runtime/reference/Reference.h"

namespace pe::reference {

/// The factors of the bound for one type of computation.
struct Tolerance {
  double relative = 0.0;
  double magnitude = 0.0;
  /// In place of `relative` for the parameters of biases with a smooth activation, whose
  /// piecewise-polynomial form is an approximation.
  double smoothParameter = 0.0;
  /// Growth per unit of max|logit|.
  double perLogit = 0.0;
  /// Of the noise that cancellation leaves.
  double noise = 0.0;
};

/// An error for a type whose tolerance is not stated.
Expected<Tolerance> toleranceOf(DType computation);

struct CompareOptions {
  DType computation = DType::F32;
  /// The function evaluated with rounding to `computation`; needed for bf16, f16 and tf32.
  const Results *rounded = nullptr;
  /// The stated error of logits under a smooth activation, added to the relative bound of outputs
  /// and of the gradients of q, k and v.
  double logitTolerance = 0.0;
};

struct TensorReport {
  std::string name;
  double error = 0.0; ///< |x - r|
  double norm = 0.0;  ///< |r|
  double bound = 0.0;
  /// Why the tensor cannot be compared, or where it is not finite; empty: it was compared.
  std::string problem;

  bool passes() const { return problem.empty() && error <= bound; }
};

struct Report {
  std::vector<TensorReport> tensors;

  bool passes() const;
  /// The largest error / bound, infinite if something could not be compared.
  double worstShare() const;
  /// One line a tensor: name, error and bound (relative to the reference's norm), verdict.
  std::string table() const;
};

/// Judges `found`, results and gradients by name ("o", "d_q" ...), against the reference's.
Expected<Report> compare(const Results &reference, const TensorMap &found,
                         const CompareOptions &options = {});

/// The name of the first tensor that differs in any bit (or is missing on one side), or empty.
std::string findBitwiseDifference(const TensorMap &a, const TensorMap &b);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_COMPARE_H
