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

FailureOr<AttentionFactors> factorsOf(AttentionOp attention) {
  AttentionFactors factors;
  for (Value value : attention.getFactors()) {
    auto factor = value.getDefiningOp<FactorFnOp>();
    // The weight of a remainder has no factor, so its output has none either.
    const bool isOfOutput =
        factor && factor.getPerQuery() && attention.getRemainder() != Remainder::Value;
    FactorFnOp &known = isOfOutput ? factors.perOutput : factors.perPair;
    if (!factor || known)
      return attention.emitOpError("expected one factor per pair and one per query; run "
                                   "pe-expand-functions and pe-classify-functions first");
    known = factor;
  }
  return factors;
}

LogicalResult checkContents(AttentionOp attention) {
  SmallVector<Value> contents(attention.getContents());
  if (Value values = attention.getValueContent())
    contents.push_back(values);
  for (Value value : contents)
    if (auto content = value.getDefiningOp<ContentFnOp>(); !content || !content.getStructure())
      return attention.emitOpError("expected content terms with a class; run "
                                   "pe-expand-functions and pe-classify-functions first");
  return success();
}

} // namespace mlir::pe
