//===- pe-test-opt.cpp - pe-opt with encodings from outside ---------------===//

#include "test/dialect/TestEncodings/TestEncodings.h"
#include "tools/pe-opt/OptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::pe::test::TestEncodingsDialect>();
  return mlir::pe::runOpt(argc, argv, registry);
}
