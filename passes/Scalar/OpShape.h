//===- OpShape.h - scalar operations on vectors or 32-bit indices ---------===//
//
// A region is written on scalars, but a lowering needs its operations on vectors of lanes, or with
// 32-bit indices. `OpShape` converts types accordingly and creates the operations:
//
//   %s = arith.addi %i, %one : index                ==>  arith.addi %a, %b : vector<16xi32>
//   %w = arith.index_cast %s : index to i64         ==>  arith.extsi %c : vector<16xi32> to ...
//
// An index fits in 32 bits here (pe-tile-define-integers).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCALAR_OPSHAPE_H
#define PE_PASSES_SCALAR_OPSHAPE_H

#include "mlir/IR/Builders.h"

namespace mlir::tile {

class OpShape {
public:
  /// Creates vectors of `lanes` elements, or scalars if it is 0. An index becomes an i32.
  explicit OpShape(int64_t lanes = 0) : lanes(lanes) {}

  /// Returns the converted form of the scalar `type`. tf32 becomes f32, which holds the rounded
  /// value.
  Type of(Type type) const;
  /// Creates `op`, an operation of arith or math with one result, on operands of this shape.
  Value create(OpBuilder &builder, Location loc, Operation &op, ValueRange operands) const;

private:
  int64_t lanes;
};

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_OPSHAPE_H
