//===- pe-lsp-server.cpp - pe in an editor --------------------------------===//
//
// MLIR's language server with pe's dialects: completion, hover, definitions and the verifiers'
// messages while typing.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEDialect.h"
#include "dialect/Tile/Tile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::pe::PEDialect, mlir::tile::TileDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
