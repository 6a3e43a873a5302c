//===- Structure.cpp - the cheapest exact class of each bias term ---------===//

#include "passes/Analysis/Structure.h"

namespace mlir::pe {

bool ignoresRowTerms(AttentionOp attention) {
  return attention.isShiftInvariant() && (!attention.getLse() || attention.getLse().use_empty());
}

FailureOr<SmallVector<TermOp>> termsOf(AttentionOp attention) {
  SmallVector<TermOp> terms;
  for (Value value : attention.getBiases()) {
    auto term = value.getDefiningOp<TermOp>();
    if (!term)
      return attention.emitOpError("expected every bias to be a pe.term, found ")
             << (value.getDefiningOp() ? value.getDefiningOp()->getName().getStringRef()
                                       : StringRef("a block argument"))
             << "; run pe-split-terms first";
    terms.push_back(term);
  }
  return terms;
}

} // namespace mlir::pe
