//===- SimplifyUnderNormalizer.cpp - Drop terms that change nothing -------===//
//
// See Passes.td for an example.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "passes/Analysis/Explain.h"
#include "passes/Analysis/Structure.h"

#define DEBUG_TYPE "pe-simplify-under-normalizer"

namespace mlir::pe {
#define GEN_PASS_DEF_PESIMPLIFYUNDERNORMALIZERPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Why the attention's result is the same without the term, or "" if it is not.
StringRef whyUnneeded(AttentionOp attention, const Term &term) {
  if (term.cls == TermClass::Zero)
    return "is zero";
  if (term.cls == TermClass::Row && ignoresRowTerms(attention))
    return "softmax is unchanged by a number added to a whole row";
  return "";
}

struct SimplifyUnderNormalizerPass
    : impl::PESimplifyUnderNormalizerPassBase<SimplifyUnderNormalizerPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](AttentionOp attention) {
      return succeeded(simplify(attention)) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult simplify(AttentionOp attention) {
    FailureOr<BiasStructure> structure = analyzeStructure(attention);
    if (failed(structure))
      return failure();
    SmallVector<Value> kept;
    SmallVector<Attribute> notes;
    Builder builder(&getContext());
    for (const Term &term : structure->terms) {
      StringRef why = whyUnneeded(attention, term);
      if (why.empty()) {
        kept.push_back(BiasFnOp(term.bias).getResult());
        continue;
      }
      std::string note = "a term that " + term.reason + ", at " +
                         describeLocation(term.root.getLoc()) + ": " + why.str();
      notes.push_back(builder.getStringAttr(note));
    }
    if (notes.empty())
      return success();
    numDropped += notes.size();
    attention.getBiasesMutable().assign(kept);
    if (auto before = attention->getAttrOfType<ArrayAttr>("pe.dropped"))
      notes.insert(notes.begin(), before.begin(), before.end());
    attention->setAttr("pe.dropped", builder.getArrayAttr(notes));
    for (const Term &term : structure->terms)
      if (term.bias->use_empty())
        term.bias->erase();
    return success();
  }
};

} // namespace
} // namespace mlir::pe
