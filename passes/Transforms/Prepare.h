//===- Prepare.h - the passes that begin every pipeline ---------*- C++ -*-===//
#ifndef PE_PASSES_TRANSFORMS_PREPARE_H
#define PE_PASSES_TRANSFORMS_PREPARE_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include <string>

namespace mlir::pe {

struct PrepareOptions : PassPipelineOptions<PrepareOptions> {
  Option<std::string> entry{
      *this, "entry", llvm::cl::desc("The public function to compile; default: the only one")};
};

/// Checks the program and inlines private functions. Afterwards the entry is the only function; it
/// is unchanged except for inlining. The reference interprets this form.
void populatePreparePipeline(OpPassManager &manager, const PrepareOptions &options);

/// Registers `pe-prepare`.
void registerPreparePipeline();

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_PREPARE_H
