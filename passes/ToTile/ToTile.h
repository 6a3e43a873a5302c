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

/// The extents of an entry function's argument or result as size expressions: operands and results
/// of attention have its spaces, those of an embedding [b, r, model], other arguments those that
/// their axes name: a name of the user's is a size of the call. A dynamic size without `pe.axes`
/// counts heads ("hq").
SmallVector<std::string> namedExtents(Value value);

/// What a call of an entry function must fulfil (RotationOpInterface, embeddings), as expressions
/// over these extents and the parameters.
SmallVector<Requirement> requirementsOf(func::FuncOp function);
/// Whether a result of its attentions depends on where queries and keys are.
bool readsPositions(func::FuncOp function);
/// What the numbers in its arguments must be: boundaries of documents, and positions.
SmallVector<ValueRequirement> valueRequirementsOf(func::FuncOp function);
/// Whether an axis of that extent, which an embedding reads at p, must have an entry per position.
bool isReadByPosition(StringRef extent);

} // namespace mlir::pe

#endif // PE_PASSES_TOTILE_TOTILE_H
