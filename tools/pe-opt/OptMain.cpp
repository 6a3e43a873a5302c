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
#include "dialect/Tile/Tile.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/ToCPU.h"
#include "passes/ToLoops/ToLoops.h"
#include "passes/ToTile/ToTile.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"

int mlir::pe::runOpt(int argc, char **argv, DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllPasses();
  registry.insert<PEDialect, tile::TileDialect>();
  registerTransformsPasses();
  registerPreparePipeline();
  registerPEToTilePasses();
  registerPEPipelinesPasses();
  registerPEPipelines();
  tile::registerToLoopsPasses();
  tile::registerSchedulePasses();
  tile::registerToCPUPasses();
  return asMainReturnCode(MlirOptMain(argc, argv, "pe optimizer driver\n", registry));
}
