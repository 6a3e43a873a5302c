//===- Prepare.cpp - the passes that begin every pipeline -----------------===//

#include "passes/Transforms/Prepare.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Transforms/Passes.h"

namespace mlir::pe {

void populatePreparePipeline(OpPassManager &manager, const PrepareOptions &options) {
  // Rejects unsupported programs before anything is changed.
  manager.addPass(createPECheckEncodingsPass({options.entry}));
  // Without an entry name the only public function is kept; with one, only that function.
  if (!options.entry.empty())
    manager.addPass(createSymbolPrivatizePass({options.entry}));
  // Calls of private functions are inlined; nothing else is simplified.
  manager.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  manager.addPass(createSymbolDCEPass());
  manager.addNestedPass<func::FuncOp>(createPECheckDataflowPass());
  manager.addNestedPass<func::FuncOp>(createPECheckReadsPass());
}

void registerPreparePipeline() {
  PassPipelineRegistration<PrepareOptions>(
      "pe-prepare", "Check a program and inline its private functions", populatePreparePipeline);
}

} // namespace mlir::pe
