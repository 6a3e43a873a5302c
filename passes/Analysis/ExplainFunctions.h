//===- ExplainFunctions.h - descriptions of functions of users --*- C++ -*-===//
//
// Describes the scalar code of an attention that is not a bias: the score function, the sink
// and the factor on the weights, with the dropout that is part of it. For each, it prints the
// formula and the price where its code is evaluated:
//
//     score 50 * tanh(s / 50)
//       at capped.mlir:6:10
//       forward: evaluates its code for every score; backward: evaluates its code and its
//       derivative price: 3 operations per score, 2 of them division, exp, log or similar; ...
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_EXPLAINFUNCTIONS_H
#define PE_PASSES_ANALYSIS_EXPLAINFUNCTIONS_H

#include "dialect/PE/PE.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// Returns {"formula", "parameters", "data", "location"} of an op whose only region is scalar code
/// and whose operands are its captures.
llvm::json::Object describeCode(func::FuncOp function, Operation *op);

/// Describes the score function, or returns null. `depths` is D + Dv, or 0 if unknown.
llvm::json::Value explainScore(func::FuncOp function, AttentionOp attention, int64_t depths);
void printScore(llvm::raw_ostream &os, const llvm::json::Object &score);

/// Describes the logits that join the denominator: a parameter with one per head, or a formula;
/// null if there are none.
llvm::json::Value explainSink(func::FuncOp function, AttentionOp attention);
void printSink(llvm::raw_ostream &os, const llvm::json::Object &sink);

/// Describes the deterministic factor on the weights; null if there is none (dropout excluded).
llvm::json::Value explainFactor(func::FuncOp function, FactorFnOp factor, int64_t depths);
void printFactor(llvm::raw_ostream &os, const llvm::json::Object &factor);

/// Describes a factor on the weights that multiplies the output; null if there is none.
llvm::json::Value explainOutputFactor(func::FuncOp function, FactorFnOp factor);
void printOutputFactor(llvm::raw_ostream &os, const llvm::json::Object &factor);

/// Describes the dropout of weights or of tokens, or returns null.
llvm::json::Value explainDropout(func::FuncOp function, FactorFnOp factor);
llvm::json::Value explainDropout(func::FuncOp function, EmbedOp op);
/// Prints the dropout, if there is any, of `of`, with one draw for every `each`.
void printDropout(llvm::raw_ostream &os, const llvm::json::Object *dropout, StringRef of,
                  StringRef each);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_EXPLAINFUNCTIONS_H
