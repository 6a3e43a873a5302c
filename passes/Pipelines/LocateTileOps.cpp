//===- LocateTileOps.cpp - lines of tile ops as locations -----------------===//
#include "passes/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/LocationSnapshot.h"

namespace mlir::pe {

#define GEN_PASS_DEF_PELOCATETILEOPSPASS
#include "passes/Pipelines/Passes.h.inc"

namespace {

class LocateTileOpsPass : public impl::PELocateTileOpsPassBase<LocateTileOpsPass> {
  void runOnOperation() override {
    std::string listing;
    llvm::raw_string_ostream stream(listing);
    generateLocationsFromIR(stream, kListingName, getOperation(),
                            OpPrintingFlags().enableDebugInfo(false));
    getOperation()->setAttr(kListingAttr, StringAttr::get(&getContext(), listing));
  }
};

} // namespace
} // namespace mlir::pe
