//===- ExportProgram.cpp - printing the neutral form of a program ---------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/ExportProgram.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#define DEBUG_TYPE "pe-export-program"

namespace mlir::pe {
#define GEN_PASS_DEF_PEEXPORTPROGRAMPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

struct ExportProgramPass : impl::PEExportProgramPassBase<ExportProgramPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && function.getBody().hasOneBlock())
        llvm::outs() << llvm::formatv("{0:2}\n",
                                      llvm::cantFail(llvm::json::parse(exportProgram(function))));
  }
};

} // namespace
} // namespace mlir::pe
