//===- Registration.h - All of pe's dialects and passes ---------*- C++ -*-===//
//
// The single list that pe-opt and its test drivers share: a new room of passes adds a line to
// Registration.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_PIPELINES_REGISTRATION_H
#define PE_PASSES_PIPELINES_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::pe {

/// MLIR's and pe's dialects.
void registerDialects(DialectRegistry &registry);

/// MLIR's and pe's passes and pipelines, by their flags.
void registerPasses();

} // namespace mlir::pe

#endif // PE_PASSES_PIPELINES_REGISTRATION_H
