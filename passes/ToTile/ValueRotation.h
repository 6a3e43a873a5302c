//===- ValueRotation.h - rotated values and outputs -----------------------===//
//
// With R_p the rotation by position p, a prologue of the values and an epilogue of the output:
//
//   v'_j = R_j v_j        o_i = R_i^T o'_i        o'_i = sum_j A_ij v'_j
//   d_v_j = R_j^T d_v'_j                          d_o'_i = R_i d_o_i
//
// The stages of the attention read v' and d_o', and write o' and d_v'. o' is kept in f32, so that o
// is rounded once. The sum of d_o' o' over a row, which normalizers need, is that of d_o o.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_VALUEROTATION_H
#define PE_PASSES_TOTILE_VALUEROTATION_H

#include "passes/ToTile/Prologue.h"

namespace mlir::tile {

class ValueRotation {
public:
  /// Fails with an error if the rotation is not defined for the depth of the values.
  static FailureOr<ValueRotation> create(PlanContext &context, pe::AttentionOp op,
                                         const std::string &name);

  /// Adds the prepare stages, and replaces the values, the output and their gradients by those that
  /// kernels read and write. `inner` is the element type of kernel operands.
  LogicalResult prepare(Attention &attention, Type inner);
  /// Adds the stage after the forward stages of the attention.
  void emitForward();
  /// Adds the stage before the backward stages of the attention.
  void emitBackward();
  /// Adds the stage after them.
  void finish();

private:
  PlanContext *context = nullptr;
  std::string name;
  std::unique_ptr<RowRotation> rotation;
  // Of the caller, and as the kernels read and write them.
  Value output, cotangent, valueGradient;
  Value ownOutput, ownCotangent, ownValueGradient;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_VALUEROTATION_H
