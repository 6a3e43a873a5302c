//===- TileBuilder.h - writing tile IR shortly ---===//
//
// The algorithms of this room read like their published forms when values, maps and dots are one
// call each:
//
//   Value s = t.mask(t.dot(q, k, "d", bias), -1.0e30);
//   Value m = t.reduce(Reduction::Max, "c", s);
//   Value p = t.map({s, m}, {"r", "c"}, [](Scalar &x, ValueRange v) { return x.exp2(x.sub(v[0],
//   v[1])); });
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_TILEBUILDER_H
#define PE_PASSES_TOTILE_TILEBUILDER_H

#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>

namespace mlir::tile {

/// Scalar arithmetic at a builder's position, f32 unless the operands say otherwise.
class Scalar : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  Value number(double value, Type type = {});
  Value index(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  /// 1 / a for a >= 1, with a relative error of about 2^-22 where the machine has an approximate
  /// instruction.
  Value approximateReciprocal(Value a);
  Value neg(Value a);
  /// The larger and the smaller one; if one is NaN, the other.
  Value max(Value a, Value b);
  Value min(Value a, Value b);
  /// The same; NaN if one is NaN.
  Value maximum(Value a, Value b);
  Value minimum(Value a, Value b);
  Value exp2(Value a);
  /// exp2 of an argument that is at most 127, or NaN.
  Value exp2Below127(Value a);
  Value log2(Value a);
  Value greater(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// A size expression, as tile.size.
  Value size(StringRef expression);
  /// To f32 where it is narrower; to `type` where that is narrower (to nearest, ties to even; for
  /// tf32 away from zero).
  Value widen(Value value);
  Value round(Value value, Type type);
  /// Exact conversion of a position to a floating-point number of `type`.
  Value toFloat(Value index, Type type);
};

using ScalarFn = llvm::function_ref<Value(Scalar &, ValueRange)>;
using ScalarFns = llvm::function_ref<SmallVector<Value>(Scalar &, ValueRange)>;

/// Tile ops at a builder's position.
class TileBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  ValType type(const SpaceSet &spaces, Type element = {}) {
    return ValType::get(getContext(), spaces, element ? element : Type(getF32Type()));
  }
  BufferType bufferType(ArrayRef<StringRef> extents, Type element = {});

  Value position(StringRef space);
  Value index(StringRef space);
  /// Batch, query head, and the positions of the query and the key.
  SmallVector<Value> pairPoint() { return {index("b"), index("hq"), position("r"), position("c")}; }
  Value constant(double number, const SpaceSet &spaces);
  /// A value of the buffer's element type.
  Value load(Value buffer, const SpaceSet &spaces);
  /// Rounds to the buffer's element type.
  void store(Value value, Value buffer);
  /// The value in another element type; unchanged if it has that type.
  Value rounded(Value value, Type element);
  /// Maps compute in f32: inputs are widened. Inputs that the body does not use are left out.
  Value map(ValueRange inputs, const SpaceSet &spaces, ScalarFn body);
  SmallVector<Value> mapMany(ValueRange inputs, const SpaceSet &spaces, unsigned results,
                             ScalarFns body);
  /// A map over pairs with no result: only accumulates. A body that accumulates nothing leaves no
  /// map.
  void eachPair(ValueRange inputs, llvm::function_ref<void(Scalar &, ValueRange)> body);
  Value scaled(Value input, double factor);
  /// `fill` outside the stage's pairs, and where `condition`, if there is one, is 0.
  Value mask(Value input, double fill, Value condition = {});
  Value reduce(Reduction kind, StringRef axis, Value input);
  Value dot(Value lhs, Value rhs, StringRef axis, Value init = {});
  std::pair<Value, Value> scan(ScanKind kind, Order order, Value a, Value b, Value carry,
                               bool exclusive);
  /// A stream; `body` gets the carries and returns the new carries, then the folds.
  StreamOp stream(Order order, ValueRange carries, TypeRange folds,
                  llvm::function_ref<SmallVector<Value>(TileBuilder &, ValueRange)> body);
  /// A loop nest; `body` gets the stage's indices, then those of `over`.
  ForeachOp foreach (ArrayRef<StringRef> over, llvm::function_ref<void(Scalar &, ValueRange)> body);
};

/// Reads and writes of single elements inside foreach bodies.
Value readElement(Scalar &s, Value buffer, ValueRange indices, bool inbounds = true);
void writeElement(Scalar &s, Value value, Value buffer, ValueRange indices);
void accumulateElement(Scalar &s, Value value, Value buffer, ValueRange indices,
                       Reduction kind = Reduction::Add);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_TILEBUILDER_H
