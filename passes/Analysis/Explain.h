//===- Explain.h - descriptions of the structure of biases ------*- C++ -*-===//
//
// The output of `pe explain` for a function: the class of every bias term, the reason for it, its
// cost, and the dropped terms. Run after pe-split-terms and pe-simplify-under-normalizer. For a
// causal attention with a learned slope and a bias over i * j the output is
//
//   attention at encodings.mlir:9:10: softmax, keys with 0 <= i - j
//     bias slopes[h] * (i - j)
//       at encodings.mlir:7:10, parameters slopes
//       class: affine, because it is proportional to i - j
//       forward: one addition per score: a multiple of i - j; backward: one sum per distance
//       price: 1 operation per score; attention without a bias takes 256
//     bias a[h] * i * j
//       at encodings.mlir:8:10, parameters a
//       class: general, because it combines (i) and (j) in arith.mulf
//       forward: evaluates its code for every score; backward: runs its reverse mode ...
//       price: 2 operations per score; attention without a bias takes 256 per score
//       advice: for a lower price, write it as a sum of functions of only i - j (tables), ...
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_EXPLAIN_H
#define PE_PASSES_ANALYSIS_EXPLAIN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// D and Dv, for types that do not specify them; 0 if unknown.
struct HeadDims {
  int64_t head = 0, value = 0;
};

/// Returns the description shown above, one paragraph per attention. Fails with an error if termsOf
/// does.
FailureOr<std::string> explainStructure(func::FuncOp function, HeadDims dims = {});

/// Returns the same as data: {"attentions": [{"location", "normalizer", "min_difference",
/// "max_difference" (null: unbounded), "masks": [(ExplainMask.h)], "rotation", "prologues":
/// (ExplainRotation.h), "terms": [{"class", "reason", "formula", "parameters", "location",
/// "forward", "backward", "price", "operations" (Price.h), "advice"}], "dropped": [text]}]}.
/// Score functions, factors and sinks also have "formula", "location", "price" and "operations".
FailureOr<llvm::json::Value> explainStructureAsJson(func::FuncOp function, HeadDims dims = {});

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_EXPLAIN_H
