//===- pe-test-opt.cpp - pe-opt with the test dialect ---------------------===//

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Pipelines/Registration.h"
#include "test/dialect/TestEncodings/TestEncodings.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::pe::registerDialects(registry);
  mlir::pe::registerPasses();
  registry.insert<mlir::pe::test::TestEncodingsDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "pe optimizer driver for tests\n", registry));
}
