//===- ExplainRotation.h - descriptions of prologues and rotations -*- C++ -*-===//
//
// Describes the operations on queries and keys before the scores. Everything is derived from
// RotationOpInterface and PrologueOpInterface: the frequencies come from the code that an op emits,
// folded if they are constants.
//
//   rotation pe.rotary {base = 10000}
//     at encoding.mlir:9:8
//     pairs: 32, (x_p, x_{p+32}) of 64 dims
//     frequency of pair p: pow(10000, -0.03125 * p); 1 at p = 0, 0.000133352 at p = 31
//     forward: cosines and sines once per call, then queries and keys are turned once per call; ...
//     price: 192 operations per query and per key; attention without a bias takes 256 per score
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_EXPLAINROTATION_H
#define PE_PASSES_ANALYSIS_EXPLAINROTATION_H

#include "dialect/PE/PEAttention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// Returns {"op", "attributes", "location", "parameters", "pairs" (null: unknown), "dims",
/// "interleaved", "per_head", "tables", "formula", "first", "last", "magnitude", "forward",
/// "trailing", "data" (the names of positions by axis), "of", "backward", "price"}, or null.
/// `rotated` are the rows that it rotates; `dims` is their depth, or 0 if unknown; `depths` is D +
/// Dv or 0.
enum class RotatedRows { QueriesAndKeys, ValuesAndOutputs };
llvm::json::Value explainRotation(func::FuncOp function, AttentionOp attention, RotatedRows rotated,
                                  int64_t dims, int64_t depths);
void printRotation(llvm::raw_ostream &os, const llvm::json::Object &rotation);

/// Returns [{"op", "attributes", "location", "parameters", "of": "queries", "keys" or "queries and
/// keys", "formula", "forward", "backward", "price", "operations"}]
llvm::json::Array explainPrologues(func::FuncOp function, AttentionOp attention);
void printPrologues(llvm::raw_ostream &os, const llvm::json::Array &prologues);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_EXPLAINROTATION_H
