//===- ToTile.h - pe -> tile ---===//
#ifndef PE_PASSES_TOTILE_TOTILE_H
#define PE_PASSES_TOTILE_TOTILE_H

#include "dialect/PE/PEInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/Pass.h"

#include <string>
#include <vector>

namespace mlir::pe {

#define GEN_PASS_DECL
#include "passes/ToTile/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToTile/Passes.h.inc"

/// Returns the extents of an entry function's argument or result as size expressions. Operands and
/// results of attention have the spaces of attention, and those of an embedding have [b, r, model];
/// other arguments have the names of their axes. A user-defined name is a size of the call. A
/// dynamic size without `pe.axes` counts heads ("hq").
SmallVector<std::string> namedExtents(Value value);

/// Returns the requirements on a call of an entry function (RotationOpInterface, embeddings), as
/// expressions over these extents and the parameters.
SmallVector<Requirement> requirementsOf(func::FuncOp function);
/// Returns true if a result of the function's attentions depends on positions.
bool readsPositions(func::FuncOp function);
/// Returns the requirements on values in the arguments: boundaries of documents, and positions.
SmallVector<ValueRequirement> valueRequirementsOf(func::FuncOp function);
/// Returns true if an axis of that extent, read by an embedding at p, needs an entry per position.
bool isReadByPosition(StringRef extent);

} // namespace mlir::pe

#endif // PE_PASSES_TOTILE_TOTILE_H
