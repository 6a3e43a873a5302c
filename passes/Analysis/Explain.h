//===- Explain.h - The structure of biases in words --------------*- C++ -*-===//
//
// What `pe explain` says about a function: the class of every bias term, why, what it costs, and
// which terms were dropped. Run after pe-split-terms and pe-simplify-under-normalizer. For a causal
// attention with a learned slope and a bias over i * j it says
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
//       forward: evaluates its code for every score; backward: runs its reverse mode for every
//       score price: 2 operations per score; attention without a bias takes 256 advice: for a lower
//       price, write it as a sum of functions of i - j alone (tables), ...
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_EXPLAIN_H
#define PE_PASSES_ANALYSIS_EXPLAIN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// D and Dv where the types leave them open; 0: unknown.
struct HeadDims {
  int64_t head = 0, value = 0;
};

/// The text above, one paragraph per attention. Fails, with an error, where termsOf does.
FailureOr<std::string> explainStructure(func::FuncOp function, HeadDims dims = {});

/// The same as data: {"attentions": [{"location", "normalizer", "min_difference",
/// "max_difference" (null: unbounded), "masks": [(ExplainMask.h)], "rotation", "prologues":
/// (ExplainRotation.h), "terms": [{"class", "reason", "formula", "parameters", "location",
/// "forward", "backward", "price", "operations" (Price.h), "advice"}], "dropped": [text]}]}.
/// Functions of the score, factors and sinks have "formula", "location", "price" and "operations"
/// too.
FailureOr<llvm::json::Value> explainStructureAsJson(func::FuncOp function, HeadDims dims = {});

/// The name of a captured value: that of the function argument, else a description.
std::string nameOfCapture(func::FuncOp function, Value capture);

/// "file:line:col", the user's innermost position; "an unknown place" without one.
std::string describeLocation(Location loc);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_EXPLAIN_H
