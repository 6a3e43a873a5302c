//===- Compare.h - Judging results against the reference --------*- C++ -*-===//
//
// The metric and the tolerances of docs/contract.md, stated once. For a tensor x with reference r,
//
//   error = |x - r|           (Euclidean norm over all elements)
//   bound = relative * |r| + magnitude * |M|
//
// where M, for a parameter gradient, is the sum over pairs of |dS * db/dtheta| and 0 otherwise.
// A computation in bf16, f16 or tf32 may be twice as far from r as float64 with the rounding that
// the type requires (EvaluateOptions::rounding): the bound grows by 2 |rounded - r|. Where a
// gradient sums few independent roundings of many (Results::rounding says how far these may move
// it), its error is taken to be at least that.
//
// Both factors grow with 4 * 2^-24 * max|logit|, over the pairs whose weight is at least 1e-9. The
// bound is at least 8 * 2^-24 * |noise| (Reference.h), for bf16, f16 and tf32 1/8 of their unit
// roundoff (2^-8, 2^-11) times it, which matters only where a gradient vanishes by saturation and
// one rounding decides. The same part of |terms| is allowed where the reference is 0 by
// cancellation; where it is 0 and nothing cancelled, x must be 0 exactly.
//
// A bound above |r| proves nothing about a result of size |r|: zeros would pass. It is valid only
// where r is what cancellation left of terms larger than the bound (M, noise or terms). Error and
// bound are then absolute; anywhere else the tensor fails because it has no bound.
//
// Where rounding to the type alone moves r by more than its size, as with saturated scores of 1e4
// in bf16, the exact r is meaningless: x is then compared with the rounded evaluation and may
// differ by one rounding of a result, (unit roundoff + relative) |rounded|.
//
// Numbers below 2^-126 are 0 in f32, so a result whose norm is at most 2^-100 (the tail of a gelu)
// may be 0, or off by as much.
//
// What the compiler says it approximates (the tolerance of a term, in logits, in `pe explain`) is
// granted this and no more: the relative factor grows by the tolerance, and is at least 2e-3 for
// the gradients of that term's parameters. Everything else, smooth activations in tables over the
// distance or evaluated per pair among it, is granted nothing. Every element must be finite where
// the reference is finite, and the same infinity or NaN where it is not.
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
  /// Growth per unit of max|logit|.
  double perLogit = 0.0;
  /// Factor of the noise that cancellation leaves.
  double noise = 0.0;
  /// Where |r| is at most this, the bound is this: the type cannot represent such values.
  double smallest = 0.0;
};

/// An error for a type whose tolerance is not stated.
Expected<Tolerance> toleranceOf(DType computation);

/// A function that was approximated: by how much a logit may be off, and on whose account.
struct Approximation {
  double logits = 0.0;
  std::vector<std::string> parameters;
};

/// The approximations that a compiled function's explanation states (pe::Function::explainJson).
Expected<std::vector<Approximation>> approximationsOf(std::string_view explainJson);

struct CompareOptions {
  DType computation = DType::F32;
  std::vector<Approximation> approximations;
  /// The function evaluated with rounding to `computation`; needed for bf16, f16 and tf32.
  const Results *rounded = nullptr;
};

struct TensorReport {
  std::string name;
  double error = 0.0; ///< |x - r|
  double norm = 0.0;  ///< |r|
  double bound = 0.0;
  /// What the bound is relative to: |r|, or, where cancellation makes that smaller than the bound,
  /// the size of the terms that cancelled.
  double scale = 0.0;
  /// Rounding to bf16, f16 or tf32 alone moves the result by more than its size, so all of the
  /// above is about the rounded evaluation in place of r.
  bool isAgainstRounded = false;
  /// Why the tensor cannot be compared, or where it is not finite; empty: it was compared.
  std::string problem;

  /// Elements that are infinite or NaN in both; error, norm and bound cover the others.
  int64_t notFinite = 0;
  /// How many elements there are.
  int64_t elements = 0;
  /// A result or a gradient without a finite element proves nothing, although it agrees.
  bool hasNothingFinite() const { return notFinite > 0 && notFinite == elements; }
  /// Infinite elements are regular here: logarithms of rows that see no key.
  bool isLogarithm = false;
  /// The reference is zero, or what cancellation left of larger terms.
  bool isAbsolute() const { return norm == 0.0 || scale > norm; }
  /// False if the bound exceeds `scale`.
  bool isBounded() const { return bound <= scale; }
  bool passes() const {
    return problem.empty() && isBounded() && error <= bound && (isLogarithm || !hasNothingFinite());
  }
  /// Name, error and bound (relative to |r| or absolute) and the verdict.
  std::string line() const;
};

struct Report {
  std::vector<TensorReport> tensors;

  bool passes() const;
  /// The first tensor without a finite element that should have some; null if there is none.
  const TensorReport *findNothingFinite() const;
  /// The name of the first tensor without a bound, or empty.
  std::string findUnbounded() const;
  /// The largest error / bound, infinite if something could not be compared.
  double worstShare() const;
  /// The lines of the tensors.
  std::string table() const;
};

/// Compares `found`, results and gradients by name ("o", "d_q" ...), against the reference's.
Expected<Report> compare(const Results &reference, const TensorMap &found,
                         const CompareOptions &options = {});

/// The name of the first tensor that differs in any bit (or is missing on one side), or empty.
std::string findBitwiseDifference(const TensorMap &a, const TensorMap &b);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_COMPARE_H
