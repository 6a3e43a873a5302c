//===- ToEmulator.h - GPU kernels as host functions -----------------------===//
#ifndef PE_PASSES_TOEMULATOR_TOEMULATOR_H
#define PE_PASSES_TOEMULATOR_TOEMULATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

#define GEN_PASS_DECL
#include "passes/ToEmulator/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToEmulator/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_TOEMULATOR_TOEMULATOR_H
