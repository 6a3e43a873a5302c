//===- TileBuilder.h - concise construction of tile IR --------------------===//
//
// With one call per value, map or dot, the algorithms of this room read like their published forms:
//
//   Value s = t.mask(t.dot(q, k, "d", bias), -1.0e30);
//   Value m = t.reduce(Reduction::Max, "c", s);
//   Value p = t.map({s, m}, {"r", "c"}, [](Scalar &x, ValueRange v) {
//     return x.exp2(x.sub(v[0], v[1]));
//   });
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_TILEBUILDER_H
#define PE_PASSES_TOTILE_TILEBUILDER_H

#include "dialect/FloatBuilder.h"
#include "dialect/Tile/Tile.h"

#include <functional>

namespace mlir::tile {

/// Scalar arithmetic at a builder's insertion point, f32 unless the operands have another type.
class Scalar : public FloatBuilder {
public:
  using FloatBuilder::FloatBuilder;
  Value index(int64_t value);
  /// Take floats or integers.
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Returns 1 / a for a >= 1, with a relative error of about 2^-22 if the machine has an
  /// approximate instruction.
  Value approximateReciprocal(Value a);
  /// Returns exp2(a), which must be at most 127 or NaN.
  Value exp2Below127(Value a);
  /// Returns the value of a size expression (tile.size).
  Value size(StringRef expression);
  /// Converts a narrower float to f32, and a value to a narrower `type` (to nearest, ties to even;
  /// ties away from zero for tf32).
  Value widen(Value value);
  Value round(Value value, Type type);
  /// Converts a position to a float `type`, exactly.
  Value toFloat(Value index, Type type);
};

using ScalarFn = llvm::function_ref<Value(Scalar &, ValueRange)>;
using ScalarFns = llvm::function_ref<SmallVector<Value>(Scalar &, ValueRange)>;

/// Tile ops at a builder's insertion point.
class TileBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  /// Returns a builder at another place with the same location and types of loads.
  TileBuilder at(const OpBuilder &place) const {
    TileBuilder other(getLoc(), place);
    other.widens = widens;
    return other;
  }

  /// Loads extend 16-bit elements to f32, and stores round f32 to them.
  bool widens = false;

  ValType type(const SpaceSet &spaces, Type element = {}) {
    return ValType::get(getContext(), spaces, element ? element : Type(getF32Type()));
  }
  BufferType bufferType(ArrayRef<StringRef> extents, Type element = {});

  Value position(StringRef space);
  Value index(StringRef space);
  /// Returns batch, query head, and the positions of the query and the key.
  SmallVector<Value> pairPoint() { return {index("b"), index("hq"), position("r"), position("c")}; }
  Value constant(double number, const SpaceSet &spaces);
  /// Loads a value of the buffer's element type, or of f32 if the builder widens.
  Value load(Value buffer, const SpaceSet &spaces);
  /// Rounds to the buffer's element type.
  void store(Value value, Value buffer);
  /// Converts the value to another element type; a no-op if it has that type.
  Value rounded(Value value, Type element);
  /// Maps compute in f32: inputs are widened. Inputs that the body does not use are dropped.
  Value map(ValueRange inputs, const SpaceSet &spaces, ScalarFn body);
  SmallVector<Value> mapMany(ValueRange inputs, const SpaceSet &spaces, unsigned results,
                             ScalarFns body);
  /// Creates a map over pairs that has accumulations but no results. A body that accumulates
  /// nothing creates no map.
  void eachPair(ValueRange inputs, llvm::function_ref<void(Scalar &, ValueRange)> body);
  Value scaled(Value input, double factor);
  /// Returns `fill` outside the stage's pairs and where `condition`, if given, is 0.
  Value mask(Value input, double fill, Value condition = {});
  Value reduce(Reduction kind, StringRef axis, Value input);
  Value dot(Value lhs, Value rhs, StringRef axis, Value init = {});
  std::pair<Value, Value> scan(ScanKind kind, Order order, Value a, Value b, Value carry,
                               bool exclusive);
  /// Creates a stream; `body` receives the carries and returns the new carries, then the folds.
  StreamOp stream(Order order, ValueRange carries, TypeRange folds,
                  llvm::function_ref<SmallVector<Value>(TileBuilder &, ValueRange)> body,
                  bool overSplits = false);
  /// Creates a loop nest; `body` receives the stage's indices, then those of `over`.
  ForeachOp foreach (ArrayRef<StringRef> over, llvm::function_ref<void(Scalar &, ValueRange)> body);
};

/// Accesses single elements inside foreach bodies.
Value readElement(Scalar &s, Value buffer, ValueRange indices, bool inbounds = true);
void writeElement(Scalar &s, Value value, Value buffer, ValueRange indices);
void accumulateElement(Scalar &s, Value value, Value buffer, ValueRange indices,
                       Reduction kind = Reduction::Add, bool own = false);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_TILEBUILDER_H
