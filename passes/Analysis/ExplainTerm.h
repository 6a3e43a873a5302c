//===- ExplainTerm.h - descriptions of terms of the score -------*- C++ -*-===//
//
// Describes the bias terms (pe.term) and the content terms (pe.content_fn) of an attention: the
// class of each, the reason for it, and the cost that follows from the class. Explain.h shows the
// text.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_EXPLAINTERM_H
#define PE_PASSES_ANALYSIS_EXPLAINTERM_H

#include "dialect/PE/PE.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// Describes a bias term. `depths` is D + Dv, or 0 if unknown.
llvm::json::Object explainTerm(func::FuncOp function, TermOp term, AttentionOp attention,
                               int64_t depths);
void printTerm(llvm::raw_ostream &os, const llvm::json::Object &term);

/// Describes a term of queries and the distance; with `ofValues`, of weights and the distance.
/// `queries` are those of query(...), or null.
llvm::json::Object explainContent(func::FuncOp function, ContentFnOp op, Value queries,
                                  bool ofValues);
void printContent(llvm::raw_ostream &os, const llvm::json::Object &content, StringRef what);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_EXPLAINTERM_H
