//===- SumEval.h - pe.sum as a loop, and its adjoint --------------*- C++ -*-===//
//
// `pe.sum` is the sum of its region over k = 0 .. n-1:
//
//   sum = 0                              adjoints of the inputs = 0
//   for k in [0, n):                     for k in [0, n):
//     sum += region(k, inputs)             the region's adjoints for the cotangent are added to
//                                          those of the inputs, and to the tensors that it reads
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_SUMEVAL_H
#define PE_PASSES_TRANSFORMS_SUMEVAL_H

#include "passes/Transforms/ScalarEmitter.h"

namespace mlir::pe {

class SumOp;

/// Emits the value of `op` in the float type `compute` (default: f32). `mapping` holds its scalar
/// inputs.
Value emitSum(SumOp op, const IRMapping &mapping, OpBuilder &builder, ParameterAccess &params,
              FloatType compute);

/// Emits the adjoint for `cotangent` of the value: adds to the tensors that the region reads and
/// returns the adjoint of each input for which `isActive` is set, and null for the others.
SmallVector<Value> emitSumAdjoint(SumOp op, const IRMapping &mapping, ArrayRef<bool> isActive,
                                  Value cotangent, OpBuilder &builder, ParameterAccess &params);

/// Returns true if the region, or a sum nested in it, reads a float tensor.
bool readsFloats(SumOp op);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_SUMEVAL_H
