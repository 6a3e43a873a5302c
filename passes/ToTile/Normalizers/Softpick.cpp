//===- Softpick.cpp - the softpick normalizer -----------------------------===//
//
// A_ij = max(x_ij, 0) / L_i with x_ij = exp(z_ij) - 1 and L_i = sum_j |x_ij|, or 0 if L_i is 0
// (Zuhri et al. 2025, arXiv 2504.20966).
//
// Forward: per row the running maximum m of the scores and 0, and L exp(-m), are carried. Near 0,
// where the difference exp(z) - 1 cancels, x is a polynomial of z.
//
// Backward: with dA the cotangent of the weights and delta_i = <dO_i, O_i>,
//   dz_ij = exp(z_ij) / L_i ([z_ij > 0] dA_ij - sign(z_ij) delta_i),
// and 0 where z_ij = 0. The residual is log(L), so that exp(z) / L = exp2(z log2(e) - log2(L)).
//
// The score of a masked pair is 0: its x is then exactly 0, and m is at least 0 anyway.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Normalizer.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Below this magnitude of z, in units of log2, the polynomial is used: |z| < 1.
constexpr double kNearZero = kLog2E;
/// The largest power of two by which weights are scaled, so that exp2 does not overflow where
/// scores are near 0. Rows with L below its inverse get smaller weights than the formula has.
constexpr double kLargestScale = 125.0;

/// Coefficients c_0, c_1, ... of (exp(z) - 1) / z for |z| < 1: interpolation at Chebyshev's nodes
/// in float64, with a relative error below 4e-8.
constexpr double kCoefficients[] = {
    0.99999997807593590, 0.49999999781421880, 0.16666736803847860,    0.041666736595220580,
    0.00832983182561264, 0.00138853969121477, 0.00020399358019140834, 2.535851222518204e-05};

/// Emits (exp(z) - 1) scale for z in units of log2, given exp(z) scale; `scale` is positive.
Value emitDifference(Scalar &s, Value z, Value power, Value scale) {
  double unit = 1.0 / kLog2E; // converts z to natural units, one factor per degree
  ArrayRef<double> coefficients(kCoefficients);
  SmallVector<double> scaled;
  for (double coefficient : coefficients) {
    scaled.push_back(coefficient * unit);
    unit /= kLog2E;
  }
  Value sum = s.number(scaled.back());
  for (double coefficient : llvm::reverse(ArrayRef(scaled).drop_back()))
    sum = s.create<math::FmaOp>(sum, z, s.number(coefficient));
  Value nearZero = s.mul(s.mul(sum, z), scale);
  Value isNear = s.greater(s.number(kNearZero), s.create<math::AbsFOp>(z));
  return s.select(isNear, nearZero, s.sub(power, scale));
}

class SoftpickForward : public ForwardPass {
public:
  using ForwardPass::ForwardPass;

  SmallVector<Value> start(TileBuilder &t) override {
    return {t.constant(0.0, {"r"}), t.constant(0.0, {"r"})};
  }

  ForwardWeights emit(TileBuilder &t, Value score, ValueRange state) override {
    Value m = state[0], sum = state[1];
    Value z = masked(t, a, score, 0.0);
    Value blockMax = t.reduce(Reduction::Max, "c", z);
    Value newMax =
        t.map({m, blockMax}, {"r"}, [](Scalar &s, ValueRange in) { return s.max(in[0], in[1]); });
    auto exp2OfDifference = [](Scalar &s, ValueRange in) {
      return s.exp2Below127(s.sub(in[0], in[1]));
    };
    Value alpha = t.map({m, newMax}, {"r"}, exp2OfDifference);
    Value scale = t.map({newMax}, {"r"},
                        [](Scalar &s, ValueRange in) { return s.exp2Below127(s.neg(in[0])); });
    SmallVector<Value> parts =
        t.mapMany({z, newMax, scale}, {"r", "c"}, 2, [&](Scalar &s, ValueRange in) {
          Value x = emitDifference(s, in[0], exp2OfDifference(s, in.take_front(2)), in[2]);
          // A NaN is kept in the sum.
          return SmallVector<Value>{s.max(x, s.number(0.0)), s.create<math::AbsFOp>(x)};
        });
    Value blockSum = t.reduce(Reduction::Add, "c", parts[1]);
    Value newSum = t.map({sum, alpha, blockSum}, {"r"}, [](Scalar &s, ValueRange in) {
      return s.add(s.mul(in[0], in[1]), in[2]);
    });
    return {{parts[0], parts[0]}, {newMax, newSum}, alpha, z};
  }

  MergedState merge(TileBuilder &t, ValueRange first, ValueRange second) override {
    return mergeSums(t, first, second,
                     [](Scalar &s, ValueRange in) { return s.exp2Below127(s.sub(in[0], in[1])); });
  }

  Normalized emitOutput(TileBuilder &t, ValueRange state, Value o) override {
    // The sum may be small, so the quotient is exact; NaN stays NaN.
    Value out = t.map({o, state[1]}, {"r", "e"}, [](Scalar &s, ValueRange in) {
      Value isEmpty = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, in[1], s.number(0.0));
      return s.select(isEmpty, s.number(0.0), s.div(in[0], in[1]));
    });
    return {out, {}, {}};
  }
  void store(TileBuilder &t, ValueRange state, ValueRange) override {
    if (!a.residual)
      return;
    Value log = t.map({state[1], state[0]}, {"r"}, [](Scalar &s, ValueRange in) {
      Value isEmpty = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, in[0], s.number(0.0));
      Value sum = s.mul(s.add(s.log2(in[0]), in[1]), s.number(1.0 / kLog2E));
      return s.select(isEmpty, s.number(-INFINITY), sum);
    });
    t.store(log, a.residual);
  }
};

class SoftpickBackward : public BackwardPass {
public:
  using BackwardPass::BackwardPass;

  SmallVector<Value> start(TileBuilder &t, Value dO) override {
    log = t.map({emitSubtrahend(t, a)}, {"r"}, [](Scalar &s, ValueRange in) {
      return s.maximum(in[0], s.number(-kLargestScale));
    });
    scale =
        t.map({log}, {"r"}, [](Scalar &s, ValueRange in) { return s.exp2Below127(s.neg(in[0])); });
    rowConstant = emitRowConstant(t, a, dO);
    return {};
  }

  Weights emitWeights(TileBuilder &t, Value score) override {
    z = masked(t, a, score, 0.0);
    SmallVector<Value> both =
        t.mapMany({z, log, scale}, {"r", "c"}, 2, [](Scalar &s, ValueRange in) {
          Value power = s.exp2Below127(s.sub(in[0], in[1]));
          Value x = emitDifference(s, in[0], power, in[2]);
          return SmallVector<Value>{s.maximum(x, s.number(0.0)), power};
        });
    power = both[1];
    return {both[0], both[0]};
  }
  SmallVector<Value> emitScores(TileBuilder &t, const WeightCotangents &c) override {
    Value dA = pairProduct(t, c.products, c.factor);
    return {t.map({z, power, dA, rowConstant}, {"r", "c"}, [](Scalar &s, ValueRange in) {
      Value zero = s.number(0.0);
      Value below = s.select(s.greater(zero, in[0]), s.neg(in[3]), zero);
      Value change = s.select(s.greater(in[0], zero), s.add(in[2], in[3]), below);
      return s.mul(in[1], change);
    })};
  }

private:
  Value log, scale;  // log2(L), and 1 / L
  Value rowConstant; // -delta
  Value z, power;    // of the current block: the score, and exp(z) / L
};

class Softpick : public Normalizer {
public:
  bool readsOutput() const override { return true; }
  /// log(L), minus infinity if L is 0.
  Value createResidual(PlanContext &context, const Twine &attention) const override {
    return context.buffer(attention + "_log_sum", Role::Residual, {"b", "hq", "r"});
  }
  std::unique_ptr<ForwardPass> forward(const Attention &a, double) const override {
    return std::make_unique<SoftpickForward>(a);
  }
  std::unique_ptr<BackwardPass> backward(const Attention &a) const override {
    return std::make_unique<SoftpickBackward>(a);
  }
};

} // namespace

namespace mlir::tile {
const Normalizer &softpick() {
  static const Softpick instance;
  return instance;
}
} // namespace mlir::tile
