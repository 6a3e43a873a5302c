//===- VectorMath.cpp - exp2 and transposition in registers ---------------===//
#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

/// Minimax polynomial of 2^f on [-1/2, 1/2] that is 1 at 0, relative error 9.2e-8.
constexpr double kExp2[] = {1.0,           0.6931469776,   0.2402224208,
                            0.05550733744, 0.009671512681, 0.001326472724};
constexpr double kExp2Highest = 127.49, kExpLowest = -125.0;
/// Where an argument that is at most 0, but for rounding, still rounds to 0.
constexpr double kAboutZero = 0.49;
/// 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum.
constexpr double kRounder = 12582912.0;
constexpr int kExponentShift = 23;

/// exp2 of this and of all below is 0: its fraction is 0, hence its polynomial 1, and 2^-127 in the
/// exponent of 1 is the exponent and the fraction of 0; ldexp has numbers below that.
double exp2Lowest(Exp2Flavour flavour) { return flavour == Exp2Flavour::Ldexp ? -200.0 : -127.0; }

Value emitPolynomial(Emitter &e, Value f) {
  Value p = e.splat(kExp2[5]);
  for (int i = 4; i >= 0; --i)
    p = e.fma(p, f, e.splat(kExp2[i]));
  return p;
}

/// log2(e) in two parts whose sum has twice the digits.
constexpr double kLog2EHigh = 1.44269502162933349609375, kLog2ELow = 1.925963033500e-8;

/// NaN stays NaN.
Value clamp(Emitter &e, Value x, double lowest, double highest) {
  return e.smaller(e.splat(highest), e.larger(e.splat(lowest), x));
}

/// `result` where `x` is a number, else NaN. The exponent of a NaN is undefined, and added to the
/// bits of another NaN it may make a number of them.
Value orNaN(Emitter &e, Value x, Value result) {
  return e.select(e.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x), x, result);
}

/// The integer nearest to a number: as a number, and as what `scale` adds to an exponent.
struct Rounded {
  Value number, exponent;
};

Rounded round(Emitter &e, Exp2Flavour flavour, Value x) {
  VectorType integers = e.vectorType(e.getI32Type());
  if (flavour == Exp2Flavour::Ldexp) {
    Value n = e.create<math::RoundEvenOp>(x);
    return {n, e.create<arith::FPToSIOp>(integers, n)};
  }
  Value sum = e.add(x, e.splat(kRounder));
  Value exponent = e.create<arith::ShLIOp>(e.create<arith::BitcastOp>(integers, sum),
                                           e.splatInt(kExponentShift));
  return {e.sub(sum, e.splat(kRounder)), exponent};
}

/// p * 2^n.
Value scale(Emitter &e, Exp2Flavour flavour, Value p, Value exponent) {
  if (flavour == Exp2Flavour::Ldexp) {
    std::string suffix = "v" + std::to_string(e.lanes);
    return e
        .create<LLVM::CallIntrinsicOp>(
            p.getType(), e.getStringAttr("llvm.ldexp." + suffix + "f32." + suffix + "i32"),
            ValueRange{p, exponent})
        .getResult(0);
  }
  Value bits = e.create<arith::AddIOp>(e.create<arith::BitcastOp>(e.vectorType(e.getI32Type()), p),
                                       exponent);
  return e.create<arith::BitcastOp>(p.getType(), bits);
}

} // namespace

Value mlir::tile::cpu::emitExp2(Emitter &e, Exp2Flavour flavour, Value x) {
  Value clamped = clamp(e, x, exp2Lowest(flavour), kExp2Highest);
  Rounded n = round(e, flavour, clamped);
  Value result = scale(e, flavour, emitPolynomial(e, e.sub(clamped, n.number)), n.exponent);
  return orNaN(e, x, result);
}

/// The upper bound makes the exponent of a NaN 0, so that adding it changes no bit, and costs what
/// it costs elsewhere; the fraction is taken from the argument itself.
Value mlir::tile::cpu::emitExp2OfNonPositive(Emitter &e, Exp2Flavour flavour, Value x) {
  x = e.larger(e.splat(exp2Lowest(flavour)), x);
  Rounded n = round(e, flavour, e.smaller(x, e.splat(kAboutZero)));
  return scale(e, flavour, emitPolynomial(e, e.sub(x, n.number)), n.exponent);
}

Value mlir::tile::cpu::emitExp(Emitter &e, Exp2Flavour flavour, Value x) {
  Value clamped = clamp(e, x, kExpLowest / kLog2EHigh, kExp2Highest / kLog2EHigh);
  Rounded n = round(e, flavour, e.mul(clamped, e.splat(kLog2EHigh)));
  Value fraction = e.fma(clamped, e.splat(kLog2EHigh), e.create<arith::NegFOp>(n.number));
  fraction = e.fma(clamped, e.splat(kLog2ELow), fraction);
  return orNaN(e, x, scale(e, flavour, emitPolynomial(e, fraction), n.exponent));
}

SmallVector<Value> mlir::tile::cpu::emitTranspose(Emitter &e, ArrayRef<Value> rows) {
  SmallVector<Value> a(rows);
  int64_t lanes = e.lanes;
  for (int64_t half = 1; half < lanes; half *= 2) {
    SmallVector<int64_t> low(lanes), high(lanes);
    for (int64_t p = 0; p < lanes; ++p) {
      bool second = p & half;
      low[p] = second ? lanes + p - half : p;
      high[p] = second ? lanes + p : p + half;
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & half)
        continue;
      Value x = a[i], y = a[i + half];
      a[i] = e.create<vector::ShuffleOp>(x, y, low);
      a[i + half] = e.create<vector::ShuffleOp>(x, y, high);
    }
  }
  return a;
}

Value mlir::tile::cpu::loadWidened(Emitter &e, Value memory, const Index &at, int64_t width) {
  Value narrow = e.loadVector(memory, at, width);
  if (width == e.lanes)
    return narrow;
  SmallVector<int64_t> lanes(e.lanes);
  for (int64_t i = 0; i < e.lanes; ++i)
    lanes[i] = std::min(i, width - 1);
  return e.create<vector::ShuffleOp>(narrow, narrow, lanes);
}

Value mlir::tile::cpu::narrowed(Emitter &e, Value wide, int64_t width) {
  if (width == e.lanes)
    return wide;
  SmallVector<int64_t> lanes(width);
  for (int64_t i = 0; i < width; ++i)
    lanes[i] = i;
  return e.create<vector::ShuffleOp>(wide, wide, lanes);
}
