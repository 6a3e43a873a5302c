//===- Explain.h - The structure of biases in words --------------*- C++ -*-===//
//
// What `pe explain` says of a function: the class of every bias term, why, what it costs, what was
// dropped. Run after pe-split-terms and pe-simplify-under-normalizer. For a causal attention with a
// learned slope and a bias over i * j it says
//
//   attention at encodings.mlir:9:10: softmax, keys with 0 <= i - j
//     bias slopes at encodings.mlir:7:10
//       class: affine, because it is proportional to i - j
//       forward: one addition per score of a multiple of i - j; backward: one sum per distance
//     bias a at encodings.mlir:8:10
//       class: general, because it combines (i) and (j) in arith.mulf
//       forward: its code for every score; backward: its reverse mode for every score
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_EXPLAIN_H
#define PE_PASSES_ANALYSIS_EXPLAIN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// The text above, one paragraph per attention. Fails, with an error, where analyzeStructure does.
FailureOr<std::string> explainStructure(func::FuncOp function);

/// The same as data: {"attentions": [{"location", "normalizer", "min_difference",
/// "max_difference" (null: unbounded), "terms": [{"class", "reason", "parameters", "location",
/// "forward", "backward"}], "dropped": [text]}]}.
FailureOr<llvm::json::Value> explainStructureAsJson(func::FuncOp function);

/// "file:line:col", the user's innermost position; "an unknown place" without one.
std::string describeLocation(Location loc);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_EXPLAIN_H
