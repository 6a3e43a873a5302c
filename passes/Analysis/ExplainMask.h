//===- ExplainMask.h - descriptions of masks --------------------*- C++ -*-===//
//
// A mask that is a range of i - j appears in the first line of `pe explain`. For every other
// conjunct this prints its formula and how kernels apply it:
//
//     mask q_doc[b, i] == k_doc[b, j]
//       at documents.mlir:7:11
//       form: code; blocks of 64 x 64 pairs that it masks entirely are skipped, ...
//       price: 2 operations per pair
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_EXPLAINMASK_H
#define PE_PASSES_ANALYSIS_EXPLAINMASK_H

#include "dialect/PE/PEAttention.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// Returns [{"formula", "location", "form": "interval" or "code", "blocks": true or false, "cost";
/// for code also "price", "operations" (Price.h)}]. Fails with an error before
/// pe-expand-masks.
FailureOr<llvm::json::Array> explainMasks(func::FuncOp function, AttentionOp attention);

void printMasks(llvm::raw_ostream &os, const llvm::json::Array &masks);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_EXPLAINMASK_H
