//===- Registration.cpp - registers pe's dialects and passes --------------===//

#include "passes/Pipelines/Registration.h"

#include "dialect/PE/PEDialect.h"
#include "dialect/Step/StepAttributes.h"
#include "dialect/Tile/Tile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Scalar/Scalar.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/ToCPU.h"
#include "passes/ToGPU/ToGPU.h"
#include "passes/ToLoops/ToLoops.h"
#include "passes/ToTile/ToTile.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"

void mlir::pe::registerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<PEDialect, step::StepDialect, tile::TileDialect>();
}

void mlir::pe::registerPasses() {
  registerAllPasses();
  registerTransformsPasses();
  registerPreparePipeline();
  registerPEToTilePasses();
  registerPEPipelinesPasses();
  registerPEPipelines();
  tile::registerScalarPasses();
  tile::registerToLoopsPasses();
  tile::registerSchedulePasses();
  tile::registerToCPUPasses();
  tile::registerToGPUPasses();
}
