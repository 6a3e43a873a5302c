//===- ToTile.h - pe -> tile ---===//
#ifndef PE_PASSES_TOTILE_TOTILE_H
#define PE_PASSES_TOTILE_TOTILE_H

#include "mlir/Pass/Pass.h"

#include <string>

namespace mlir::pe {

#define GEN_PASS_DECL
#include "passes/ToTile/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToTile/Passes.h.inc"

/// The extents of an entry function's argument or result as size expressions: operands and results
/// of attention have its spaces, a parameter's dynamic size is its head axis ("hq").
SmallVector<std::string> namedExtents(Value value);

} // namespace mlir::pe

#endif // PE_PASSES_TOTILE_TOTILE_H
