//===- SegmentsGradient.cpp - gradients of piecewise polynomials ----------===//
//
// Chains the sums of the backward stream to the parameters of the pieces, of u and of v.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/SegmentsTerm.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Coefficients [node][power] of the Lagrange polynomials of the Chebyshev points of [-1, 1]: each
/// is 1 at one point and 0 at the others.
struct NodeBasis {
  explicit NodeBasis(int64_t degree) {
    const int64_t count = degree + 1;
    for (int64_t k = 0; k < count; ++k)
      nodes.push_back(-std::cos((k + 0.5) * std::numbers::pi / count));
    for (double node : nodes) {
      SmallVector<double> product = {1.0};
      for (double other : nodes) {
        if (other == node)
          continue;
        product.push_back(0.0);
        for (size_t m = product.size(); m-- > 0;)
          product[m] = ((m ? product[m - 1] : 0.0) - other * product[m]) / (node - other);
      }
      coefficients.push_back(product);
    }
  }
  SmallVector<double> nodes;
  SmallVector<SmallVector<double>> coefficients;
};

} // namespace

/// Returns the sums of g x^m of a piece, m = 0 ... degree, over the batch, in float64.
SmallVector<Value> SegmentsTerm::momentsOf(Scalar &s, ValueRange at) {
  SmallVector<Value> sums;
  for (int64_t m = 0; m <= degree; ++m)
    sums.push_back(batchSum(s, moments, {at[0], at[1], s.index(m)}));
  return sums;
}

/// Emits reverse mode of scale * piece at one point x, in float64.
void SegmentsTerm::emitPoint(Scalar &s, Value head, Value point, Value cotangent) {
  Type f64 = s.getF64Type();
  TileParameters inner = parameters(pe::TermPart::Piece);
  TileParameters outer = parameters(pe::TermPart::Scale);
  inner.compute = outer.compute = cast<FloatType>(f64);
  IRMapping innerMapping, outerMapping;
  mapPart(innerMapping, pe::TermPart::Piece, s.index(0), head, point);
  mapPart(outerMapping, pe::TermPart::Scale, s.index(0), head, {});
  Value value = piece->emitPrimal(s, innerMapping, inner, inner.compute);
  Value factor = scale->emitPrimal(s, outerMapping, outer, outer.compute);
  piece->emitAdjoint(s, innerMapping, s.mul(cotangent, factor), inner);
  scale->emitAdjoint(s, outerMapping, s.mul(cotangent, value), outer);
}

void SegmentsTerm::finishPieces() {
  const NodeBasis basis(degree);
  TileBuilder t = beginStage(context.plan, name + "_pieces_finish", Phase::Finish, {});
  t.foreach ({"hq", capacity, powers}, [&](Scalar &s, ValueRange at) {
    Type f64 = s.getF64Type();
    SmallVector<Value> sums = momentsOf(s, at);
    // Selects the constant of this node.
    auto ofNode = [&](auto constantOf) {
      Value chosen = s.number(constantOf(0), f64);
      for (int64_t node = 1; node <= degree; ++node) {
        Value isThis = s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, at[2], s.index(node));
        chosen = s.select(isThis, s.number(constantOf(node), f64), chosen);
      }
      return chosen;
    };
    Value node = ofNode([&](int64_t k) { return basis.nodes[k]; });
    SmallVector<Value> weights;
    for (int64_t m = 0; m <= degree; ++m)
      weights.push_back(ofNode([&](int64_t k) { return basis.coefficients[k][m]; }));
    Value pieces =
        s.create<arith::IndexCastOp>(s.getIndexType(), readElement(s, count, {s.index(0)}));
    Value exists = s.create<arith::CmpIOp>(arith::CmpIPredicate::slt, at[1], pieces);
    Value some = s.number(0.0, f64);
    for (Value sum : sums)
      some = s.add(some, s.create<math::AbsFOp>(sum));
    ifNonZero(s, s.select(exists, some, s.number(0.0, f64)), [&](Scalar &x) {
      Value low = readElement(x, knots, {at[1]});
      Value high = readElement(x, knots, {x.add(at[1], x.index(1))});
      auto wide = [&](Value value) -> Value { return x.create<arith::ExtFOp>(f64, value); };
      Value half = x.mul(x.sub(wide(high), wide(low)), x.number(0.5, f64));
      // The center of the kernel's polynomials.
      Value middle = wide(x.mul(x.add(low, high), x.number(0.5)));
      Value isWide = x.greater(half, x.number(0.0, f64)), one = x.number(1.0, f64);
      Value unit = x.select(isWide, x.div(one, x.select(isWide, half, one)), x.number(0.0, f64));
      if (degree == 1) // its moments are of the coordinate itself
        sums[1] = x.sub(sums[1], x.mul(sums[0], middle));
      Value power = unit;
      for (int64_t m = 1; m <= degree; ++m, power = x.mul(power, unit))
        sums[m] = x.mul(sums[m], power);
      Value cotangent = x.number(0.0, f64);
      for (auto [sum, weight] : llvm::zip_equal(sums, weights))
        cotangent = x.add(cotangent, x.mul(sum, weight));
      emitPoint(x, at[0], x.add(middle, x.mul(half, node)), cotangent);
    });
  });
}

void SegmentsTerm::finishRows() {
  TileBuilder t = beginStage(context.plan, name + "_rows_finish", Phase::Finish, {});
  t.foreach ({"hq", "r"}, [&](Scalar &s, ValueRange at) {
    // v_grad was computed with coefficients in log2 units.
    Value sum = s.mul(batchSum(s, vSums, at), s.number(1.0 / kLog2E, s.getF64Type()));
    ifNonZero(s, sum, [&](Scalar &x) {
      FactorCode code = exactFactor(x, pe::TermPart::RowFactor, at);
      row->emitAdjoint(x, code.mapping, sum, code.params);
    });
  });
}

SegmentsTerm::FactorCode SegmentsTerm::exactFactor(Scalar &s, pe::TermPart part, ValueRange at) {
  const bool isRow = part == pe::TermPart::RowFactor;
  FactorCode code{parameters(part), {}, {}};
  code.params.compute = cast<FloatType>(s.getF64Type());
  if (isRow)
    mapRow(s, code.mapping, at[0], at[1]);
  else
    mapDistance(s, code.mapping, at[0], at[1]);
  code.value =
      (isRow ? row : factor)->emitPrimal(s, code.mapping, code.params, code.params.compute);
  return code;
}

/// With g the cotangent of the product u v, rows have the sums of g u and distances those of g v.
/// Both have the same total, the sum of g u v, except for rounding. Far from position 0 the
/// gradient of a parameter of both factors is the small difference of two large sums, and their
/// discrepancy would dominate it. This computes the discrepancy, which is compensated at one
/// distance.
void SegmentsTerm::balanceSums() {
  Type f64 = context.plan.getF64Type();
  surplus = context.temporary(name + "_surplus", {"hq"}, f64, /*zero=*/true);
  TileBuilder t = beginStage(context.plan, name + "_balance", Phase::Finish, {});
  auto addTotal = [&](StringRef extent, ArrayRef<Value> sums, pe::TermPart part, double sign) {
    t.foreach ({"hq", extent}, [&](Scalar &s, ValueRange at) {
      Value sum = s.mul(batchSum(s, sums, at), s.number(sign, f64));
      ifNonZero(s, sum, [&](Scalar &x) {
        accumulateElement(x, x.mul(sum, exactFactor(x, part, at).value), surplus, at.front());
      });
    });
  };
  addTotal("r", vSums, pe::TermPart::RowFactor, 1.0);
  addTotal("r + c - 1", uSums, pe::TermPart::Factor, -1.0);
}

/// Returns the correction that makes the sums over distances agree with those over rows. It is
/// applied at the largest distance.
Value SegmentsTerm::surplusAt(Scalar &s, ValueRange at) {
  Type f64 = s.getF64Type();
  ValueRange place = term.dependsOnHead(pe::TermPart::Factor) ? at : at.drop_front();
  Value factor = s.create<arith::ExtFOp>(f64, readElement(s, u, place));
  Value isLast = s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, at.back(), s.size("r + c - 2"));
  Value exists = s.create<arith::AndIOp>(
      isLast, s.create<arith::CmpFOp>(arith::CmpFPredicate::ONE, factor, s.number(0.0, f64)));
  Value divisor = s.select(exists, factor, s.number(1.0, f64));
  return s.select(exists, s.div(readElement(s, surplus, at.front()), divisor), s.number(0.0, f64));
}

void SegmentsTerm::finishDistances() {
  TileBuilder t = beginStage(context.plan, name + "_distances_finish", Phase::Finish, {});
  t.foreach ({"hq", "r + c - 1"}, [&](Scalar &s, ValueRange at) {
    Value sum = batchSum(s, uSums, at);
    if (surplus)
      sum = s.add(sum, surplusAt(s, at));
    sum = s.mul(sum, s.number(1.0 / kLog2E, s.getF64Type()));
    ifNonZero(s, sum, [&](Scalar &x) {
      FactorCode code = exactFactor(x, pe::TermPart::Factor, at);
      factor->emitAdjoint(x, code.mapping, sum, code.params);
    });
  });
}

void SegmentsTerm::finish() {
  if (moments.empty())
    return;
  finishPieces();
  if (!vSums.empty() && !uSums.empty())
    balanceSums();
  if (!vSums.empty())
    finishRows();
  if (!uSums.empty())
    finishDistances();
  for (CaptureSums &sums : captureSums)
    sums.finish();
}
