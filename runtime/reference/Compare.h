//===- Compare.h - Comparison of results with the reference -----*- C++ -*-===//
//
// Implements the metric and the tolerances of docs/contract.md. For a tensor x with reference r,
//
//   error = |x - r|           (Euclidean norm over all elements)
//   bound = relative * |r| + magnitude * |M|
//
// where M is the sum over pairs of |dS * db/dtheta| for a parameter gradient, and 0 otherwise. A
// computation in bf16, f16 or tf32 may be twice as far from r as float64 with the rounding that the
// type requires (EvaluateOptions::rounding): the bound grows by 2 |rounded - r|. The difference
// counts as at least Results::rounding, because in a gradient of few elements the rounding errors
// of the evaluation may happen to cancel.
//
// Both factors grow with 4 * 2^-24 * max|logit| over the pairs whose weight is at least 1e-9. The
// bound is at least 8 * 2^-24 * |noise| (Reference.h); for bf16, f16 and tf32 it is at least 1/8 of
// their unit roundoff (2^-8, 2^-11) times |noise|. This matters only if a gradient vanishes by
// saturation, so that a single rounding dominates. The same fraction of |terms| is allowed if the
// reference is 0 by cancellation; if it is 0 without cancellation, x must be exactly 0.
//
// Under a normalizer that amplifies errors of logits (softpick, where weights near 0 have a large
// derivative), 4 * 2^-24 * |errors| is added, where errors is the effect of logits that are off by
// the size of their terms (Results::logitErrors).
//
// A bound above |r| proves nothing about a result of size |r|: zeros would pass. Such a bound is
// valid only if r is the remainder of larger terms (M, noise or terms) that cancelled; error and
// bound are then absolute. Otherwise the tensor fails because it has no bound.
//
// If rounding to the type alone moves r by more than its size, as with saturated scores of 1e4 in
// bf16, the exact r is meaningless. x is then compared with the rounded evaluation and may differ
// by one rounding of a result, (unit roundoff + relative) |rounded|.
//
// Values below 2^-126 are 0 in f32, so a result whose norm is at most 2^-100 (the tail of a gelu)
// may be 0, or off by as much.
//
// The compiler states what it approximates (the tolerance of a term, in logits, in `pe explain`).
// The relative factor grows by that tolerance, and is at least 2e-3 for the gradients of the term's
// parameters. Nothing else gets an allowance, including smooth activations that are tabulated over
// the distance or evaluated per pair. Each element must be finite where the reference is finite,
// and the same infinity or NaN where it is not.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_COMPARE_H
#define PE_RUNTIME_REFERENCE_COMPARE_H

#include "runtime/reference/Reference.h"

namespace pe::reference {

/// The factors of the bound for one compute type.
struct Tolerance {
  double relative = 0.0;
  double magnitude = 0.0;
  /// The growth of both factors per unit of max|logit|: the error of a logit relative to its terms.
  double perLogit = 0.0;
  /// The factor on the noise that cancellation leaves.
  double noise = 0.0;
  /// If |r| is at most this value, the bound is this value: the type cannot represent smaller ones.
  double smallest = 0.0;
};

/// Returns the tolerance of a compute type; an error for other types.
Expected<Tolerance> toleranceOf(DType computation);

/// An approximated function: the error of its logits, and the parameters whose gradients it
/// affects.
struct Approximation {
  double logits = 0.0;
  std::vector<std::string> parameters;
};

/// Returns the approximations in the explanation of a compiled function
/// (pe::Function::explainJson).
Expected<std::vector<Approximation>> approximationsOf(std::string_view explainJson);

/// The compute type of the results, and the deviations that it allows.
struct CompareOptions {
  /// If it is f32 and a result is stored in bf16 or f16, the bound of the result also contains one
  /// rounding of every element.
  DType computation = DType::F32;
  std::vector<Approximation> approximations;
  /// The function evaluated with rounding to `computation`; required for bf16, f16 and tf32.
  const Results *rounded = nullptr;
};

/// The comparison of one tensor.
struct TensorReport {
  std::string name;
  double error = 0.0; ///< |x - r|
  double norm = 0.0;  ///< |r|
  double bound = 0.0;
  /// The value that the bound is relative to: |r| or, if |r| is smaller than the bound because of
  /// cancellation, the size of the terms that cancelled.
  double scale = 0.0;
  /// True if rounding to bf16, f16 or tf32 alone moves the result by more than its size; the fields
  /// above then refer to the rounded evaluation instead of r.
  bool isAgainstRounded = false;
  /// The reason why the tensor cannot be compared, such as an element that is not finite; empty if
  /// it was compared.
  std::string problem;

  /// Elements that are infinite or NaN in both; error, norm and bound are over the others.
  int64_t notFinite = 0;
  /// The number of elements.
  int64_t elements = 0;
  /// Returns true if no element is finite: such a result proves nothing, although it agrees.
  bool hasNothingFinite() const { return notFinite > 0 && notFinite == elements; }
  /// True for logarithms, which may be infinite: rows that see no key.
  bool isLogarithm = false;
  /// Returns true if the reference is zero or the remainder of larger terms that cancelled.
  bool isAbsolute() const { return norm == 0.0 || scale > norm; }
  /// Returns false if the bound exceeds `scale`.
  bool isBounded() const { return bound <= scale; }
  bool passes() const {
    return problem.empty() && isBounded() && error <= bound && (isLogarithm || !hasNothingFinite());
  }
  /// Formats the name, error and bound (relative to |r| or absolute) and the verdict.
  std::string line() const;
};

/// The comparison of all tensors.
struct Report {
  std::vector<TensorReport> tensors;

  bool passes() const;
  /// Returns the first tensor that lacks a finite element but should have some, or null.
  const TensorReport *findNothingFinite() const;
  /// Returns the name of the first tensor without a bound, or "".
  std::string findUnbounded() const;
  /// Returns the largest error / bound, or infinity if a tensor could not be compared.
  double worstShare() const;
  /// Returns the lines of all tensors.
  std::string table() const;
};

/// Compares results and gradients by name ("o", "d_q" ...) with those of the reference.
Expected<Report> compare(const Results &reference, const TensorMap &found,
                         const CompareOptions &options = {});

/// Returns the name of the first tensor that differs in any bit or is missing on one side, or "".
std::string findBitwiseDifference(const TensorMap &a, const TensorMap &b);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_COMPARE_H
