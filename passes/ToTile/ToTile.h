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

/// What the dimensions of an entry function's argument count (`pe.axes`); null where it does not
/// say.
ArrayAttr axesOf(Value value);

/// The extents of an entry function's argument or result as size expressions: operands and results
/// of attention have its spaces, another argument those that its axes name. An unknown size without
/// `pe.axes` counts heads ("hq").
SmallVector<std::string> namedExtents(Value value);

} // namespace mlir::pe

#endif // PE_PASSES_TOTILE_TOTILE_H
