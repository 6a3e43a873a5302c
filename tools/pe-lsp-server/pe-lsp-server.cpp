//===- pe-lsp-server.cpp - The language server of pe ----------------------===//
//
// The language server of MLIR with the dialects of pe: completion, hover, definitions, and the
// errors of parsers and verifiers while typing.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEDialect.h"
#include "dialect/Step/StepAttributes.h"
#include "dialect/Tile/Tile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::pe::PEDialect, mlir::step::StepDialect, mlir::tile::TileDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
