//===- SumEval.h - pe.sum as a loop -------------------------------*- C++ -*-===//
//
// `pe.sum` is the sum of its region over k = 0 .. n-1. Its value and its adjoint are loops over k
// with the same leaves; ScalarEmitter and ScalarVjp emit the bodies:
//
//   sum = 0                              adjoints of the inputs = 0
//   for k in [0, n):                     for k in [0, n):
//     sum += region(k, inputs)             the region's adjoints for the cotangent are added to
//                                          those of the inputs, and to the tensors that it reads
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_SUMEVAL_H
#define PE_PASSES_TRANSFORMS_SUMEVAL_H

#include "mlir/IR/IRMapping.h"
#include "passes/Transforms/ParameterAccess.h"

namespace mlir::pe {

class SumOp;

/// Emits the next carried values of a loop over summands. `mapping` holds the leaves of the region,
/// and `params` its tensors.
using SumBody = llvm::function_ref<SmallVector<Value>(OpBuilder &builder, IRMapping &mapping,
                                                      ParameterAccess &params, ValueRange carried)>;

/// Emits the loop over the summands of `op`, which carries `inits`. `outside` holds the scalar
/// inputs of `op`. Returns the last carried values.
ValueRange emitSumLoop(SumOp op, const IRMapping &outside, OpBuilder &builder,
                       ParameterAccess &params, ValueRange inits, SumBody body);

/// Returns true if the region, or a sum nested in it, reads a float tensor.
bool readsFloats(SumOp op);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_SUMEVAL_H
