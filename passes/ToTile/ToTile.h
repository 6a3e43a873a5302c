//===- ToTile.h - pe -> tile -------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_TOTILE_H
#define PE_PASSES_TOTILE_TOTILE_H

#include "mlir/Pass/Pass.h"

#include <string>

namespace mlir::pe {

#define GEN_PASS_DECL
#include "passes/ToTile/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToTile/Passes.h.inc"

} // namespace mlir::pe

#endif // PE_PASSES_TOTILE_TOTILE_H
