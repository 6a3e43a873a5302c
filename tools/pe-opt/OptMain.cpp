//===- OptMain.cpp - The body of pe-opt -----------------------------------===//
//
// Each room of passes registers itself here by one call.
//
//===----------------------------------------------------------------------===//

#include "tools/pe-opt/OptMain.h"

#include "dialect/PE/PEDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"

int mlir::pe::runOpt(int argc, char **argv, DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllPasses();
  registry.insert<PEDialect>();
  registerTransformsPasses();
  registerPreparePipeline();
  return asMainReturnCode(MlirOptMain(argc, argv, "pe optimizer driver\n", registry));
}
