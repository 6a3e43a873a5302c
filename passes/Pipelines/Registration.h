//===- Registration.h - registers pe's dialects and passes ------*- C++ -*-===//
//
// The list that pe-opt and its test drivers share. A new directory of passes adds a line to
// Registration.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_PIPELINES_REGISTRATION_H
#define PE_PASSES_PIPELINES_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::pe {

/// Registers the dialects of MLIR and pe.
void registerDialects(DialectRegistry &registry);

/// Registers the passes and pipelines of MLIR and pe under their flags.
void registerPasses();

} // namespace mlir::pe

#endif // PE_PASSES_PIPELINES_REGISTRATION_H
