//===- ParameterAccess.h - captured tensors of emitted code -----*- C++ -*-===//
//
// Abstracts the storage of the tensors that the region of a bias captures: a memref, a tile buffer
// or a stack slot. Code that is emitted from a region reads its parameters and adds to their
// gradients only through this interface.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_PARAMETERACCESS_H
#define PE_PASSES_TRANSFORMS_PARAMETERACCESS_H

#include "mlir/IR/Builders.h"

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

/// Converts `value` to another float type.
Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_PARAMETERACCESS_H
