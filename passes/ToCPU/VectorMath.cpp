//===- VectorMath.cpp - exp2 and transposition in registers ---------------===//
#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

/// The minimax polynomial of 2^f on [-1/2, 1/2] that is 1 at 0; its relative error is 9.2e-8.
constexpr double kExp2[] = {1.0,           0.6931469776,   0.2402224208,
                            0.05550733744, 0.009671512681, 0.001326472724};
/// 2^x is 0 for x at or below kExp2Lowest.
constexpr double kExp2Lowest = -127.0, kExp2Highest = 127.49, kExpLowest = -125.0;
/// 1.5 * 2^23 plus the bias of the exponent. Adding it rounds to an integer, which is, with the
/// bias, in the low bits of the sum.
constexpr double kRounder = 12582912.0 + 127.0;
constexpr int kExponentShift = 23;

Value emitPolynomial(Emitter &e, Value f) {
  Value p = e.splat(kExp2[5]);
  for (int i = 4; i >= 0; --i)
    p = e.fma(p, f, e.splat(kExp2[i]));
  return p;
}

/// log2(e) in two parts whose sum has twice the precision of f32.
constexpr double kLog2EHigh = 1.44269502162933349609375, kLog2ELow = 1.925963033500e-8;

/// Clamps x; NaN stays NaN.
Value clamp(Emitter &e, Value x, double lowest, double highest) {
  return e.smaller(e.splat(highest), e.larger(e.splat(lowest), x));
}

/// The integer nearest to a value, as a float and in the form that `scale` takes.
struct Rounded {
  Value number, exponent;
};

Rounded round(Emitter &e, Exp2Flavour flavour, Value x) {
  if (flavour == Exp2Flavour::ScaleF) {
    Value n = e.create<math::RoundEvenOp>(x);
    return {n, n};
  }
  VectorType integers = e.vectorType(e.getI32Type());
  Value sum = e.add(x, e.splat(kRounder));
  Value exponent = e.create<arith::ShLIOp>(e.create<arith::BitcastOp>(integers, sum),
                                           e.splatInt(kExponentShift));
  return {e.sub(sum, e.splat(kRounder)), e.create<arith::BitcastOp>(x.getType(), exponent)};
}

/// Returns p * 2^n. Like p, the result is NaN if the argument was NaN.
Value scale(Emitter &e, Exp2Flavour flavour, Value p, Value exponent) {
  if (flavour == Exp2Flavour::Bits)
    return e.mul(p, exponent);
  constexpr int kCurrentRounding = 4;
  Value allLanes = e.constant(e.getI16IntegerAttr(-1));
  Value rounding = e.constant(e.getI32IntegerAttr(kCurrentRounding));
  return e
      .create<LLVM::CallIntrinsicOp>(p.getType(),
                                     e.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                     ValueRange{p, exponent, p, allLanes, rounding})
      .getResult(0);
}

/// Returns 2^x for x >= kExp2Lowest.
Value emitExp2InRange(Emitter &e, Exp2Flavour flavour, Value x) {
  Rounded n = round(e, flavour, x);
  return scale(e, flavour, emitPolynomial(e, e.sub(x, n.number)), n.exponent);
}

} // namespace

Value mlir::tile::cpu::emitExp2(Emitter &e, Exp2Flavour flavour, Value x) {
  return emitExp2InRange(e, flavour, clamp(e, x, kExp2Lowest, kExp2Highest));
}

Value mlir::tile::cpu::emitExp2Below127(Emitter &e, Exp2Flavour flavour, Value x) {
  return emitExp2InRange(e, flavour, e.larger(e.splat(kExp2Lowest), x));
}

Value mlir::tile::cpu::emitExp(Emitter &e, Exp2Flavour flavour, Value x) {
  Value clamped = clamp(e, x, kExpLowest / kLog2EHigh, kExp2Highest / kLog2EHigh);
  Rounded n = round(e, flavour, e.mul(clamped, e.splat(kLog2EHigh)));
  Value fraction = e.fma(clamped, e.splat(kLog2EHigh), e.create<arith::NegFOp>(n.number));
  fraction = e.fma(clamped, e.splat(kLog2ELow), fraction);
  return scale(e, flavour, emitPolynomial(e, fraction), n.exponent);
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

/// Rounds 1 and 2 add inside groups of four lanes, so that every group holds sums of four vectors;
/// later rounds add groups. Each shuffle is an instruction with an immediate operand.
Value SumsOfLanes::addHalves(Value x, Value y, int64_t round) {
  const int64_t lanes = e.lanes;
  SmallVector<int64_t> low, high;
  // The lanes of both vectors that are added, two operands of the sum for every lane.
  auto take = [&](int64_t first, int64_t second) {
    low.push_back(first);
    high.push_back(second);
  };
  if (round == 1) {
    for (int64_t group = 0; group < lanes; group += 4)
      for (int64_t lane : {group, group + 1})
        for (int64_t from : {lane, lanes + lane})
          take(from, from + 2);
  } else if (round == 2) {
    for (int64_t group = 0; group < lanes; group += 4)
      for (int64_t from : {group, lanes + group})
        for (int64_t lane : {from, from + 1})
          take(lane, lane + 2);
  } else {
    // Sums of groups that are `apart` groups from each other: first halves, then neighbours.
    const int64_t groups = lanes / 4, apart = round == lanes / 2 && groups > 2 ? 1 : groups / 2;
    for (int64_t from : {int64_t(0), lanes})
      for (int64_t group = 0; group < groups; group += apart == 1 ? 2 : 1)
        for (int64_t lane = 0; lane < 4 && group < (apart == 1 ? groups : apart); ++lane)
          take(from + 4 * group + lane, from + 4 * (group + apart) + lane);
  }
  Value sum = e.create<vector::ShuffleOp>(x, y, low);
  return e.add(sum, e.create<vector::ShuffleOp>(x, y, high));
}

void SumsOfLanes::add(Value vector) {
  int64_t round = 1;
  for (; !pending.empty() && pending.back().first == round; round *= 2)
    vector = addHalves(pending.pop_back_val().second, vector, round);
  pending.push_back({round, vector});
}

Value mlir::tile::cpu::emitSumsOfLanes(Emitter &e, ArrayRef<Value> vectors) {
  SumsOfLanes sums(e);
  for (Value vector : vectors)
    sums.add(vector);
  return sums.get();
}

Value mlir::tile::cpu::emitMaxOfLanes(Emitter &e, Value vector) {
  for (int64_t half = e.lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> other(e.lanes);
    for (int64_t lane = 0; lane < e.lanes; ++lane)
      other[lane] = (lane + half) % e.lanes;
    vector = e.larger(vector, e.create<vector::ShuffleOp>(vector, vector, other));
  }
  return e.create<vector::ExtractOp>(vector, 0);
}

Value mlir::tile::cpu::loadDistances(Emitter &e, Value table, const Index &base, const Index &first,
                                     bool checks) {
  SmallVector<int64_t> reversed;
  for (int64_t lane = e.lanes; lane-- > 0;)
    reversed.push_back(lane);
  const Index least = first - Index(e.lanes - 1);
  Value entries;
  if (checks) {
    Value exists = e.compare(arith::CmpIPredicate::sge, e.iota(), e.splatIndex(Index(0) - least));
    entries = e.loadLanes(table, base + least, exists);
  } else {
    entries = e.loadVector(table, base + least);
  }
  return e.create<vector::ShuffleOp>(entries, entries, reversed);
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
