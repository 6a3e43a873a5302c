//===- Slice.h - the code that computes a value of a bias region -*- C++ -*-===//
//
// Bias regions are single blocks of pure scalar operations, so the code of one value is the set of
// operations reachable through its operands, in block order.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_SLICE_H
#define PE_PASSES_ANALYSIS_SLICE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::pe {

/// Returns the operations that compute `roots`, in block order. The walk stops at block arguments
/// and at values for which `isLeaf` holds.
SmallVector<Operation *> collectSlice(ValueRange roots,
                                      llvm::function_ref<bool(Value)> isLeaf = {});

/// Clones the slice of `root` at the builder's insertion point, with leaves and previously cloned
/// values taken from `mapping`, and returns the clone of `root`. For pe -> pe rewrites; code
/// outside pe is emitted by emitScalar (passes/Transforms/ScalarEmitter.h).
Value cloneSlice(Value root, IRMapping &mapping, OpBuilder &builder);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_SLICE_H
