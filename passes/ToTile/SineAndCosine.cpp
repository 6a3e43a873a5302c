//===- SineAndCosine.cpp - float64 sine and cosine ------------------------===//
#include "passes/ToTile/SineAndCosine.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace mlir::tile;

/// Returns the sum of x^(2k) * (-1)^k / (2k + first)! for k < terms, by Horner's rule; `square` is
/// x^2.
static Value emitSeries(Scalar &s, Value square, int first, int terms) {
  Value sum;
  for (int k = terms; k-- > 0;) {
    double coefficient = k % 2 ? -1.0 : 1.0;
    for (int n = 2; n <= 2 * k + first; ++n)
      coefficient /= n;
    Value number = s.number(coefficient, s.getF64Type());
    sum = sum ? s.create<math::FmaOp>(sum, square, number).getResult() : number;
  }
  return sum;
}

std::pair<Value, Value> mlir::tile::emitSineAndCosine(Scalar &s, Value x) {
  Type f64 = s.getF64Type();
  auto number = [&](double value) { return s.number(value, f64); };
  auto equals = [&](Value a, double b) -> Value {
    return s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a, number(b));
  };
  // pi/2 as a sum of two numbers.
  constexpr double kHigh = 0x1.921fb54442d18p+0, kLow = 0x1.1a62633145c07p-54;
  Value n = s.create<math::RoundEvenOp>(s.mul(x, number(2 / std::numbers::pi)));
  Value minus = s.neg(n);
  Value r = s.create<math::FmaOp>(minus, number(kHigh), x);
  r = s.create<math::FmaOp>(minus, number(kLow), r);
  Value square = s.mul(r, r);
  Value sine = s.mul(r, emitSeries(s, square, /*first=*/1, /*terms=*/9));
  Value cosine = emitSeries(s, square, /*first=*/0, /*terms=*/9);
  // The quarter turn, 0 to 3.
  Value turns = s.create<math::FloorOp>(s.mul(n, number(0.25)));
  Value quarter = s.create<math::FmaOp>(turns, number(-4.0), n);
  Value isOne = equals(quarter, 1), isTwo = equals(quarter, 2), isThree = equals(quarter, 3);
  Value isOdd = s.create<arith::OrIOp>(isOne, isThree);
  auto signedBy = [&](Value a, Value b, Value value) {
    Value isNegative = s.create<arith::OrIOp>(a, b);
    return s.select(isNegative, s.neg(value), value);
  };
  return {signedBy(isTwo, isThree, s.select(isOdd, cosine, sine)),
          signedBy(isOne, isTwo, s.select(isOdd, sine, cosine))};
}
