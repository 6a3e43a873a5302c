//===- pe-opt.cpp - The MLIR optimizer driver with the passes of pe -------===//

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Pipelines/Registration.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::pe::registerDialects(registry);
  mlir::pe::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "pe optimizer driver\n", registry));
}
