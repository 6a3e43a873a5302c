//===- pe-opt.cpp - MLIR's optimizer driver with pe's dialects and passes -===//

#include "tools/pe-opt/OptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  return mlir::pe::runOpt(argc, argv, registry);
}
