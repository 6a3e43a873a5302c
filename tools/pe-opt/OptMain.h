//===- OptMain.h - The body of pe-opt ---------------------------*- C++ -*-===//
#ifndef PE_TOOLS_PE_OPT_OPTMAIN_H
#define PE_TOOLS_PE_OPT_OPTMAIN_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::pe {

/// Registers MLIR's and pe's dialects and passes and runs MLIR's optimizer driver. `registry` may
/// hold further dialects. Returns the exit code.
int runOpt(int argc, char **argv, DialectRegistry &registry);

} // namespace mlir::pe

#endif // PE_TOOLS_PE_OPT_OPTMAIN_H
