//===- FoldedInteger.h - integers of emitted code -------------------------===//
//
// An integer that a kernel computes: an SSA value plus a constant, or only the constant. Its
// arithmetic folds constants, so the same code serves static and dynamic sizes. A CPU kernel
// computes with `index` values, a GPU kernel with i32 values; the builder decides:
//
//   Value toValue(const FoldedInteger<Builder> &)    emits the sum of value and constant
//   template <typename OpTy> Value binary(Value, Value)
//   static constexpr bool kSharesProducts            true if binary returns earlier results
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCALAR_FOLDEDINTEGER_H
#define PE_PASSES_SCALAR_FOLDEDINTEGER_H

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

namespace mlir::tile {

template <typename Builder> class FoldedInteger {
  using Int = FoldedInteger;

public:
  FoldedInteger(int64_t constant = 0) : constant(constant) {}
  FoldedInteger(Builder &builder, Value value) : builder(&builder), base(value) {
    auto constantOp = value.getDefiningOp<arith::ConstantOp>();
    if (auto attr = constantOp ? dyn_cast<IntegerAttr>(constantOp.getValue()) : IntegerAttr()) {
      base = Value();
      constant = attr.getInt();
    }
  }

  bool isConstant() const { return !base; }
  bool isConstant(int64_t n) const { return !base && constant == n; }
  int64_t getConstant() const { return constant; }

  friend Int operator+(const Int &a, const Int &b) {
    const int64_t constant = a.constant + b.constant;
    if (!a.base || !b.base)
      return Int(a.base ? a.builder : b.builder, a.base ? a.base : b.base, constant);
    return binary<arith::AddIOp>(a, b, constant);
  }
  friend Int operator-(const Int &a, const Int &b) {
    const int64_t constant = a.constant - b.constant;
    if (!b.base)
      return Int(a.builder, a.base, constant);
    if (a.base == b.base)
      return constant;
    Value left = a.base ? a.base : b.builder->toValue(Int(0));
    return Int(b.builder, b.builder->template binary<arith::SubIOp>(left, b.base), constant);
  }
  friend Int operator*(const Int &a, const Int &b) {
    if (!a.base && b.base)
      return b * a;
    if (!a.base || b.isConstant(0))
      return a.constant * b.constant;
    if (b.isConstant(1))
      return a;
    if (!b.base || !Builder::kSharesProducts) {
      Int factor = b.base ? a : Int(a.builder, a.base, 0);
      Int product = emit<arith::MulIOp>(factor, b);
      product.constant = b.base ? 0 : a.constant * b.constant;
      return product;
    }
    // Distribute the product, so that adjacent integers share the product of their values.
    Int product = binary<arith::MulIOp>(a, b, a.constant * b.constant);
    if (a.constant)
      product = product + Int(b.builder, b.base, 0) * Int(a.constant);
    if (b.constant)
      product = product + Int(a.builder, a.base, 0) * Int(b.constant);
    return product;
  }
  /// Return the quotient and the remainder of nonnegative integers.
  friend Int operator/(const Int &a, const Int &b) {
    if (!a.base && !b.base)
      return a.constant / b.constant;
    return b.isConstant(1) ? a : emit<arith::DivUIOp>(a, b);
  }
  friend Int operator%(const Int &a, const Int &b) {
    if (!a.base && !b.base)
      return a.constant % b.constant;
    return b.isConstant(1) ? Int(0) : emit<arith::RemUIOp>(a, b);
  }
  friend Int operator^(const Int &a, const Int &b) {
    if (!a.base && !b.base)
      return a.constant ^ b.constant;
    if (a.isConstant(0) || b.isConstant(0))
      return a.base ? a : b;
    return emit<arith::XOrIOp>(a, b);
  }
  friend Int minOf(const Int &a, const Int &b) {
    return !a.base && !b.base ? Int(std::min(a.constant, b.constant)) : emit<arith::MinSIOp>(a, b);
  }
  friend Int maxOf(const Int &a, const Int &b) {
    return !a.base && !b.base ? Int(std::max(a.constant, b.constant)) : emit<arith::MaxSIOp>(a, b);
  }
  friend Int ceilDiv(const Int &a, const Int &b) { return (a + b - Int(1)) / b; }
  friend Int roundDown(const Int &a, const Int &unit) { return a / unit * unit; }
  friend Int roundUp(const Int &a, const Int &unit) { return ceilDiv(a, unit) * unit; }
  /// Returns x if a < b, else y.
  friend Int pickIfLess(const Int &a, const Int &b, const Int &x, const Int &y) {
    if (!a.base && !b.base)
      return a.constant < b.constant ? x : y;
    Builder &builder = *(a.builder ? a.builder : b.builder);
    return builder.pick(builder.less(a, b), x, y);
  }

private:
  friend Builder;
  FoldedInteger(Builder *builder, Value base, int64_t constant)
      : builder(builder), base(base), constant(constant) {}

  /// Returns `OpTy` of the values of a and b without their constants, plus `constant`.
  template <typename OpTy> static Int binary(const Int &a, const Int &b, int64_t constant) {
    return Int(a.builder, a.builder->template binary<OpTy>(a.base, b.base), constant);
  }
  /// Returns `OpTy` of a and b.
  template <typename OpTy> static Int emit(const Int &a, const Int &b) {
    Builder *builder = a.builder ? a.builder : b.builder;
    Value left = builder->toValue(a), right = builder->toValue(b);
    return Int(builder, builder->template binary<OpTy>(left, right), 0);
  }

  Builder *builder = nullptr;
  Value base; // null if it is a constant
  int64_t constant = 0;
};

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_FOLDEDINTEGER_H
