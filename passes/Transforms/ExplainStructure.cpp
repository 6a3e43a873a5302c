//===- ExplainStructure.cpp - printing the structure of biases ------------===//
//
// See Passes.td for an example; passes/Analysis/Explain.h produces the text.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "passes/Analysis/Explain.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "pe-explain-structure"

namespace mlir::pe {
#define GEN_PASS_DEF_PEEXPLAINSTRUCTUREPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

struct ExplainStructurePass : impl::PEExplainStructurePassBase<ExplainStructurePass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (json) {
      FailureOr<llvm::json::Value> data = explainStructureAsJson(getOperation());
      if (failed(data))
        return signalPassFailure();
      llvm::outs() << llvm::formatv("{0:2}\n", *data);
      return;
    }
    FailureOr<std::string> text = explainStructure(getOperation());
    if (failed(text))
      return signalPassFailure();
    llvm::outs() << *text;
  }
};

} // namespace
} // namespace mlir::pe
