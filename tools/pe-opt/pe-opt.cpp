//===- pe-opt.cpp - MLIR's optimizer driver with pe's dialects and passes -===//

#include "dialect/PE/PEDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "dialect/Tile/Tile.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/ToTile/ToTile.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  mlir::pe::registerTransformsPasses();
  mlir::pe::registerPreparePipeline();
  mlir::pe::registerPEToTilePasses();
  mlir::pe::registerPEPipelinesPasses();
  mlir::pe::registerPEPipelines();
  registry.insert<mlir::pe::PEDialect, mlir::tile::TileDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "pe optimizer driver\n", registry));
}
