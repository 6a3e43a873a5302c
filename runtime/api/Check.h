//===- Check.h - A function's results against the reference -----*- C++ -*-===//
//
// Judges results and gradients, wherever they were computed, against the float64 reference with the
// bounds of docs/contract.md. `pe run --check`, pe_check and Python's `pe.check` use this one.
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
  /// Reads outside of an axis and the first bad score (reference::Results).
  std::vector<reference::OutsideRead> outsideReads;
  std::string badScore;
  /// A tensor that differs as much when the formulas alone are evaluated in float32, and where
  /// these lose their digits.
  struct Explanation {
    reference::TensorReport tensor;
    reference::FormulaLoss loss;
  };
  std::optional<Explanation> explanation;

  bool passes() const { return report.passes() && outsideReads.empty(); }
  /// An error if a tensor has no bound, differs by more than it or has no finite element, or if a
  /// formula reads outside of an axis.
  Status status() const;
  /// {"passes": true, "tensors": [{"name": "o", "line": ..., "error": ...}, ...]}
  std::string json() const;
};

/// `inputs` are the arguments and cotangents ("d_o") of the call, `found` its results and, with
/// `grad`, the gradients of all floating arguments. `threads` as in reference::EvaluateOptions.
Expected<Judgement> judge(const jit::Description &description, const CompiledFunction &function,
                          const TensorMap &inputs, const TensorMap &found,
                          const Positions &positions, bool grad, unsigned threads);

} // namespace pe::api

#endif // PE_RUNTIME_API_CHECK_H
