//===- PEScalarBuilder.h - A builder of scalar IR ---------------*- C++ -*-===//
//
// Ops define their value at one point as scalar f32 IR (ScalarOpInterface). With this class, the
// definitions resemble the formulas:
//
//   ScalarBuilder f(builder, loc, point);
//   return f.log(f.add(f.abs(f.mul(f.parameter(c), f.distance())), f.constant(1.0)));
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PESCALARBUILDER_H
#define PE_DIALECT_PE_PESCALARBUILDER_H

#include "dialect/PE/PEInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::pe {

class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Location loc, const PairPoint &point)
      : builder(builder), loc(loc), point(point) {}

  // Constants.
  Value constant(double value);
  Value constantInt(int64_t value); ///< i32
  Value constantIndex(int64_t value);

  // Positions. Differences are computed on integers, so they are exact if f32 can represent them.
  Value difference();   ///< i - j as i32
  Value relative();     ///< i - j as f32
  Value distance();     ///< |i - j| as f32
  Value toFloat(Value); ///< i32 or index to f32
  Value toIndex(Value); ///< f32 with an integer value to index

  // Arithmetic on f32.
  Value add(Value a, Value b) { return create<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return create<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
  Value abs(Value a) { return create<math::AbsFOp>(a); }
  Value log(Value a) { return create<math::LogOp>(a); }
  Value exp(Value a) { return create<math::ExpOp>(a); }
  Value max(Value a, Value b) { return create<arith::MaximumFOp>(a, b); }
  Value scale(double factor, Value a); ///< factor * a; `a` itself if factor is 1
  Value select(Value condition, Value a, Value b) {
    return create<arith::SelectOp>(condition, a, b);
  }
  Value less(Value a, Value b) { return create<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b); }

  /// Reads the head's element of a parameter, which has rank 0, one element per head, or one
  /// element that all heads share.
  Value parameter(Value tensor);
  /// Returns the head, or 0 for an axis of static extent 1, which all heads share.
  Value headIndex(int64_t extent);
  Value read(Value tensor, ValueRange indices);

  template <typename OpTy, typename... Args> Value create(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }

private:
  OpBuilder &builder;
  Location loc;
  const PairPoint &point;
};

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESCALARBUILDER_H
