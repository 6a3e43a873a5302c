//===- FloatBuilder.h - A builder of float arithmetic -----------*- C++ -*-===//
//
// The operations on floats, scalars or vectors, that the rooms of the compiler emit. Their builders
// derive from this one. Each call creates one op and folds nothing.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_FLOATBUILDER_H
#define PE_DIALECT_FLOATBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir {

class FloatBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// Returns a constant, f32 without a type.
  Value number(double value, Type type = {}) {
    return create<arith::ConstantOp>(getFloatAttr(type ? type : getF32Type(), value));
  }

  Value add(Value a, Value b) { return create<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return create<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
  Value neg(Value a) { return create<arith::NegFOp>(a); }
  /// Return the maximum or minimum, or the other operand if one is NaN.
  Value max(Value a, Value b) { return create<arith::MaxNumFOp>(a, b); }
  Value min(Value a, Value b) { return create<arith::MinNumFOp>(a, b); }
  /// Return the maximum or minimum, or NaN if one operand is NaN.
  Value maximum(Value a, Value b) { return create<arith::MaximumFOp>(a, b); }
  Value minimum(Value a, Value b) { return create<arith::MinimumFOp>(a, b); }

  Value abs(Value a) { return create<math::AbsFOp>(a); }
  Value sqrt(Value a) { return create<math::SqrtOp>(a); }
  Value exp(Value a) { return create<math::ExpOp>(a); }
  Value exp2(Value a) { return create<math::Exp2Op>(a); }
  Value log(Value a) { return create<math::LogOp>(a); }
  Value log2(Value a) { return create<math::Log2Op>(a); }

  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return create<arith::CmpFOp>(predicate, a, b);
  }
  Value less(Value a, Value b) { return compare(arith::CmpFPredicate::OLT, a, b); }
  Value greater(Value a, Value b) { return compare(arith::CmpFPredicate::OGT, a, b); }
  Value select(Value condition, Value a, Value b) {
    return create<arith::SelectOp>(condition, a, b);
  }
};

} // namespace mlir

#endif // PE_DIALECT_FLOATBUILDER_H
