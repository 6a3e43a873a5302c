//===- Check.h - Comparison of results with the reference -------*- C++ -*-===//
//
// Compares results and gradients of any device with the float64 reference, using the bounds of
// docs/contract.md. `pe run --check`, pe_check and Python's `pe.check` use it.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_API_CHECK_H
#define PE_RUNTIME_API_CHECK_H

#include "runtime/api/Compiler.h"
#include "runtime/reference/Compare.h"
#include "runtime/reference/FormulaLoss.h"

namespace pe::api {

struct Judgement {
  reference::Report report;
  /// The largest |logit| of the call (reference::Results).
  double maxLogit = 0.0;
  /// Out-of-bounds reads of an axis, and the first bad score (reference::Results).
  std::vector<reference::OutsideRead> outsideReads;
  std::string badScore;
  /// A tensor that differs as much if only the formulas are evaluated in float32, and the operation
  /// at which they lose their digits.
  struct Explanation {
    reference::TensorReport tensor;
    reference::FormulaLoss loss;
  };
  std::optional<Explanation> explanation;

  bool passes() const { return report.passes() && outsideReads.empty(); }
  /// Returns an error if a tensor has no bound, exceeds its bound or has no finite element, or if a
  /// formula reads outside of an axis.
  Status status() const;
  /// Returns {"passes": true, "tensors": [{"name": "o", "line": ..., "error": ...}, ...]}.
  std::string json() const;
};

/// Compares `found` with the reference. `inputs` are the arguments and cotangents ("d_o") of the
/// call, `found` its results and, with `grad`, the gradients of all floating arguments. See
/// reference::EvaluateOptions for `threads`.
Expected<Judgement> judge(const jit::Description &description, const CompiledFunction &function,
                          const TensorMap &inputs, const TensorMap &found,
                          const Positions &positions, bool grad, unsigned threads);

} // namespace pe::api

#endif // PE_RUNTIME_API_CHECK_H
