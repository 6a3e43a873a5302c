//===- pe-opt.cpp - The MLIR optimizer driver with the passes of pe -------===//

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Pipelines/Registration.h"

#ifndef NDEBUG
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"

/// Prints the decisions of the passes. Packages of LLVM are built without assertions and lack the
/// option --debug-only, but their libraries contain its implementation.
static llvm::cl::opt<std::string>
    logDecisions("log-decisions", llvm::cl::value_desc("pe-schedule-cpu,..."),
                 llvm::cl::desc("Log the decisions of these passes (DEBUG_TYPE of their files)"),
                 llvm::cl::callback([](const std::string &types) {
                   llvm::DebugFlag = true;
                   llvm::SmallVector<llvm::StringRef> names;
                   llvm::SplitString(types, names, ",");
                   static std::vector<std::string> owned(names.begin(), names.end());
                   std::vector<const char *> pointers;
                   for (const std::string &name : owned)
                     pointers.push_back(name.c_str());
                   llvm::setCurrentDebugTypes(pointers.data(), pointers.size());
                 }));
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::pe::registerDialects(registry);
  mlir::pe::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "pe optimizer driver\n", registry));
}
