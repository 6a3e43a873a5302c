//===- ScalarEmitter.h - emission of scalars from bias regions --*- C++ -*-===//
//
// A bias is a region of scalar operations over one (b, h, i, j) (`pe.bias_fn`). Lowerings need
// single values of such a region in other places: a distance-only value in the loop that fills a
// table, a row factor in a preparation stage, the entire bias in the body of a score map. This file
// copies the backward slice of a value to such a place. `ParameterAccess` abstracts the storage of
// the captured tensors: a memref, a tile buffer or a stack slot.
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
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::pe {

/// Gives emitted code access to the tensors that a region captures, and to their gradients.
/// `tensor` is the block argument of the region; its type gives rank and static sizes. Indices are
/// emitted index values, one per dimension, not yet clamped: an implementation clamps them to the
/// tensor's sizes, both in `read` and in `accumulate` (the dialect's rule for reads out of range).
/// Values have the float type of the computation; an implementation converts to and from its
/// storage type.
class ParameterAccess {
public:
  virtual ~ParameterAccess();

  /// Returns the element at `indices`.
  virtual Value read(OpBuilder &builder, Location loc, BlockArgument tensor,
                     ValueRange indices) = 0;

  /// Adds `value` to the gradient of the element at `indices`. Called only by adjoint code.
  virtual void accumulate(OpBuilder &builder, Location loc, BlockArgument tensor,
                          ValueRange indices, Value value) = 0;

  /// Return the index of this call's head `head` in the entire model, and the model's number of
  /// heads (`pe.global_head`, `pe.heads_total`), as index values.
  virtual Value globalHead(OpBuilder &builder, Location loc, Value head) = 0;
  virtual Value headsTotal(OpBuilder &builder, Location loc) = 0;

  /// Returns the size of an axis of a captured tensor (`pe.axis_size`, the bound of a `pe.sum`) as
  /// an index value. The default implementation supports only static sizes.
  virtual Value axisSize(OpBuilder &builder, Location loc, BlockArgument tensor, int64_t axis);

  /// Returns a scratch memref of `size` elements, used by `pe.mlp_eval`. The default implementation
  /// places a `memref.alloca` at the start of the enclosing function, so that loops do not grow the
  /// stack.
  virtual Value scratch(OpBuilder &builder, Location loc, int64_t size, Type element);
};

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

/// Converts `value` to another float type.
Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_SCALAREMITTER_H
