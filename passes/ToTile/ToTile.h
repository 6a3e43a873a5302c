//===- ToTile.h - pe -> tile ---===//
#ifndef PE_PASSES_TOTILE_TOTILE_H
#define PE_PASSES_TOTILE_TOTILE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/Pass.h"

#include <string>

namespace mlir::pe {

#define GEN_PASS_DECL
#include "passes/ToTile/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToTile/Passes.h.inc"

/// What each dimension of an entry function's
/// argument counts (`pe.axes`); null if unspecified.
ArrayAttr axesOf(Value value);

/// The extents of an entry function's argument or result as size expressions: operands and results
/// of attention have its spaces, other arguments those that their axes name. A dynamic size without
/// `pe.axes` counts heads ("hq").
SmallVector<std::string> namedExtents(Value value);

} // namespace mlir::pe

#endif // PE_PASSES_TOTILE_TOTILE_H
