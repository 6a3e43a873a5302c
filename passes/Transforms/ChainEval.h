//===- ChainEval.h - A chain of layers as loops, and its adjoint -*- C++ -*-===//
//
// An op with PiecewiseOpInterface (`pe.mlp_eval` is one) is one output of a chain of affine maps,
// each followed by a function, at one scalar. Here it becomes loops over these layers (scf.for)
// with the hidden values in scratch memory; the adjoint computes the hidden values again and walks
// the layers backwards. Parameters are accessed through `ParameterAccess` alone.
//
// For links w1[n], b1[n] with the function a, then w2[H, n], b2[H] without one:
//
//   z_k = w1[k] x + b1[k],  y = b2[h] + sum_k w2[h, k] a(z_k)
//   b2[h] += g,  w2[h, k] += g a(z_k),  dz_k = g w2[h, k] a'(z_k),
//   b1[k] += dz_k,  w1[k] += dz_k x,  dx = sum_k dz_k w1[k]
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_CHAINEVAL_H
#define PE_PASSES_TRANSFORMS_CHAINEVAL_H

#include "dialect/PE/PEInterfaces.h"
#include "passes/Transforms/ScalarEmitter.h"

namespace mlir::pe {

/// Emits the value of `op` at the emitted `x` (whose float type is the computation's) for the
/// emitted head index.
Value emitChain(PiecewiseOpInterface op, Value x, Value head, OpBuilder &builder,
                ParameterAccess &params);

/// Emits the adjoint for `cotangent` of the value: accumulates into every parameter and returns
/// the adjoint of `x`.
Value emitChainAdjoint(PiecewiseOpInterface op, Value x, Value head, Value cotangent,
                       OpBuilder &builder, ParameterAccess &params);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_CHAINEVAL_H
