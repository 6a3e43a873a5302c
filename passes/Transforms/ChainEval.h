//===- ChainEval.h - A chain of layers as loops, and its adjoint -*- C++ -*-===//
//
// An op with PiecewiseOpInterface (such as `pe.mlp_eval`) computes one output of a chain of affine
// maps, each followed by a function, at one scalar. This file lowers it to loops over the layers
// (scf.for) with the hidden values in scratch memory; the adjoint recomputes the hidden values and
// visits the layers in reverse. Parameters are accessed only through `ParameterAccess`.
//
// For links w1[n], b1[n] with the function a, then w2[H, n], b2[H] without a function:
//
//   z_k = w1[k] x + b1[k],  y = b2[h] + sum_k w2[h, k] a(z_k)
//   b2[h] += g,  w2[h, k] += g a(z_k),  dz_k = g w2[h, k] a'(z_k),
//   b1[k] += dz_k,  w1[k] += dz_k x,  dx = sum_k dz_k w1[k]
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_CHAINEVAL_H
#define PE_PASSES_TRANSFORMS_CHAINEVAL_H

#include "dialect/PE/PEInterfaces.h"
#include "passes/Transforms/ParameterAccess.h"

namespace mlir::pe {

/// Emits the value of `op` at the emitted `x` (whose type is the float type of the computation) for
/// the emitted head index.
Value emitChain(PiecewiseOpInterface op, Value x, Value head, OpBuilder &builder,
                ParameterAccess &params);

/// Emits the adjoint for `cotangent` of the value: accumulates into every parameter and returns
/// the adjoint of `x`.
Value emitChainAdjoint(PiecewiseOpInterface op, Value x, Value head, Value cotangent,
                       OpBuilder &builder, ParameterAccess &params);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_CHAINEVAL_H
