//===- PEScalarBuilder.h - A builder of scalar IR ---------------*- C++ -*-===//
//
// Ops define their value at one point as scalar f32 IR (ScalarOpInterface). With this class, the
// definitions resemble the formulas:
//
//   ScalarBuilder f(builder, loc, point);
//   return f.log(f.add(f.abs(f.mul(f.parameter(c), f.distance())), f.number(1.0)));
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PESCALARBUILDER_H
#define PE_DIALECT_PE_PESCALARBUILDER_H

#include "dialect/FloatBuilder.h"
#include "dialect/PE/PEInterfaces.h"

namespace mlir::pe {

class ScalarBuilder : public FloatBuilder {
public:
  /// Emits at the insertion point of `builder`.
  ScalarBuilder(const OpBuilder &builder, Location loc, const PairPoint &point)
      : FloatBuilder(loc, builder), point(point) {}

  // Integer constants.
  Value constantInt(int64_t value); ///< i32
  Value constantIndex(int64_t value);

  // Positions. Differences are computed on integers, so they are exact if f32 can represent them.
  Value difference();   ///< i - j as i32
  Value relative();     ///< i - j as f32
  Value distance();     ///< |i - j| as f32
  Value toFloat(Value); ///< i32 or index to f32
  Value toIndex(Value); ///< f32 with an integer value to index

  Value scale(double factor, Value a); ///< factor * a; `a` itself if factor is 1

  /// Reads the head's element of a parameter, which has rank 0, one element per head, or one
  /// element that all heads share.
  Value parameter(Value tensor);
  /// Returns the head, or 0 for an axis of static extent 1, which all heads share.
  Value headIndex(int64_t extent);
  Value read(Value tensor, ValueRange indices);

private:
  const PairPoint &point;
};

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESCALARBUILDER_H
