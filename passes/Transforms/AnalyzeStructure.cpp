//===- AnalyzeStructure.cpp - Classes of bias terms as an attribute -------===//
//
// See Passes.td for an example; the analysis is passes/Analysis/Structure.h.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "passes/Analysis/Structure.h"

#define DEBUG_TYPE "pe-analyze-structure"

namespace mlir::pe {
#define GEN_PASS_DEF_PEANALYZESTRUCTUREPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

struct AnalyzeStructurePass : impl::PEAnalyzeStructurePassBase<AnalyzeStructurePass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](AttentionOp attention) {
      FailureOr<BiasStructure> structure = analyzeStructure(attention);
      if (failed(structure))
        return WalkResult::interrupt();
      SmallVector<Attribute> terms;
      for (const Term &term : structure->terms)
        terms.push_back(TermAttr::get(&getContext(), term.cls, term.reason));
      if (!terms.empty())
        attention->setAttr("pe.terms", ArrayAttr::get(&getContext(), terms));
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::pe
