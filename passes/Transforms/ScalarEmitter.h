//===- ScalarEmitter.h - emission of scalars from bias regions --*- C++ -*-===//
//
// A bias is a region of scalar operations over one (b, h, i, j) (`pe.bias_fn`). Lowerings need
// single values of such a region in other places: a distance-only value in the loop that fills a
// table, a row factor in a preparation stage, the entire bias in the body of a score map. This file
// copies the backward slice of a value to such a place.
//
// Worked example. To fill a table over the distance t of the region
//
//   ^bb0(%b: index, %h: index, %i: index, %j: index, %slope: tensor<?xf32>):
//     %d = arith.subi %i, %j : index
//     %e = arith.index_cast %d : index to i64
//     %x = arith.sitofp %e : i64 to f32
//     %s = pe.read %slope[%h] : tensor<?xf32>
//     %y = arith.mulf %s, %x : f32
//     pe.yield %y : f32
//
// write, inside the loop over t of head h:
//
//   IRMapping mapping;
//   mapPoint(mapping, region.front(), {b, h, t, zero});            // i := t, j := 0
//   Value y = emitScalar(yieldOperand, mapping, builder, params);  // arith ops, params.read(...)
//
// Values already in the mapping are not emitted again, so several roots share common
// subexpressions.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_SCALAREMITTER_H
#define PE_PASSES_TRANSFORMS_SCALAREMITTER_H

#include "dialect/PE/PEInterfaces.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Transforms/ParameterAccess.h"

namespace mlir::pe {

/// Maps the four leading arguments of a bias region's block to `point`.
void mapPoint(IRMapping &mapping, Block &block, const PairPoint &point);

/// Emits a copy of `root`, a float or integer value of a single-block region, with the leaves taken
/// from `mapping`. `mapping` receives every emitted value. If `compute` is given, every float of
/// the region is computed in that type instead of its declared type.
Value emitScalar(Value root, IRMapping &mapping, OpBuilder &builder, ParameterAccess &params,
                 FloatType compute = {});

/// Returns true for the operations that emitScalar can emit.
bool isEmittable(Operation *op);

/// Emits the expansion of `math.fpowi` (x to an integer power), which few targets support.
Value emitWholePower(OpBuilder &builder, Location loc, Value x, Value exponent);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_SCALAREMITTER_H
