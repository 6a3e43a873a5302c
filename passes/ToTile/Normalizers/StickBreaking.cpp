//===- StickBreaking.cpp - the stick-breaking normalizer ------------------===//
//
// Forward: keys are visited nearest first. With u = exp(z) and t = 1 / (1 + u) = 1 - sigma(z), the
// mass left after a key is R <- R t and the key's weight is R_before sigma(z) = R_after u
// (Tan et al. 2024, arXiv 2410.17980; docs/encodings/stick-breaking.md). The backward pass needs R
// at the beginning of each block, in stream order.
//
// Backward: keys are visited farthest first. With beta = sigma(z), R_j the mass before key j (after
// the nearer keys), j - 1 the next key farther away, and dA_j = <dO, V_j>:
//   U_j = beta_j dA_j + (1 - beta_j) U_{j-1},  dz_j = beta_j (1 - beta_j) R_j (dA_j - U_{j-1}).
// U starts at 0, or at the cotangent of the mass left, which is the weight of one more key.
// The other form, delta minus a running sum, cancels: up to 33 % error in a decay's
// gradient at 2048 keys (docs/numerics.md). R is rebuilt inside each block from the
// forward's snapshot at the block's nearest end. A factor on the weights multiplies <dO, V_j>.
//
// Merging, the first part being the nearer keys: w_1 = 1, w_2 = exp(l_1), l = l_1 + l_2,
// dl_1 = w_2 <dO, o_2> + dl, and dl_2 = dl.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Normalizer.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Return the orders in which keys are visited.
Order nearestFirst(const Attention &a) { return a.isAfter ? Order::Ascending : Order::Descending; }
Order farthestFirst(const Attention &a) { return a.isAfter ? Order::Descending : Order::Ascending; }

/// The largest scores of the forward pass, in units of log2, with 16-bit and with wider operands: a
/// key leaves at least 2^-30 or 2^-60 of the mass before it (docs/numerics.md, section 5).
constexpr double kMostOdds = 30.0, kMostOddsWide = 60.0;

/// Returns true if masses are divided by the odds of several keys at once (ScanOp). In f32 and tf32
/// the bound of such odds would dominate the gradients of a call whose rows are all saturated.
bool dividesByOdds(const Attention &a) { return !a.operands.isF32() && !a.operands.isTF32(); }

/// Emits log2(1 + x) for x in [0, 1]. The factor x / (u - 1) compensates the rounding of u = 1 + x
/// (Kahan 1983, cited in Goldberg 1991, theorem 4); the many tiny x of far keys add up.
Value log2OfOnePlus(Scalar &s, Value x) {
  Value one = s.number(1.0), u = s.add(x, one);
  Value isLost = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, u, one);
  Value factor = s.mul(x, s.approximateReciprocal(s.sub(u, one)));
  return s.select(isLost, s.mul(x, s.number(kLog2E)), s.mul(s.log2(u), factor));
}

/// The state is the mass left. If its logarithm is a result, it is a further sum of logarithms,
/// because the mass itself underflows.
class StickBreakingForward : public ForwardPass {
public:
  using ForwardPass::ForwardPass;

  Order order() const override { return nearestFirst(a); }
  SmallVector<Value> start(TileBuilder &t) override { return {t.constant(1.0, {"r"})}; }
  SmallVector<Value> startSums(TileBuilder &t) override {
    if (!a.statistic)
      return {};
    return {t.constant(0.0, {"r"})};
  }

  void enterBlock(TileBuilder &t, ValueRange state) override {
    if (a.residual)
      t.store(state[0], a.residual);
  }
  ForwardWeights emit(TileBuilder &t, Value score, ValueRange state) override {
    z = masked(t, a, score, kMasked);
    if (!dividesByOdds(a)) {
      SmallVector<Value> odds = t.mapMany({z}, {"r", "c"}, 2, [](Scalar &s, ValueRange in) {
        Value u = emitOdds(s, in[0], kMostOddsWide);
        return SmallVector<Value>{u, s.approximateReciprocal(s.add(u, s.number(1.0)))};
      });
      auto [after, left] = t.scan(ScanKind::Mul, order(), odds[1], Value(), state[0], false);
      return {{pairProduct(t, after, odds[0]), odds[0]}, {left}, {}, z};
    }
    Value odds = t.map({z}, {"r", "c"},
                       [](Scalar &s, ValueRange in) { return emitOdds(s, in[0], kMostOdds); });
    auto [after, left] = t.scan(ScanKind::Odds, order(), odds, Value(), state[0], false);
    return {{pairProduct(t, after, odds), odds}, {left}, {}, z};
  }
  SmallVector<Value> emitSums(TileBuilder &t, ValueRange sums) override {
    if (sums.empty())
      return {};
    Value logs = t.map({z}, {"r", "c"}, [](Scalar &s, ValueRange in) {
      // log2(1 + 2^z) without overflow.
      Value zero = s.number(0.0), high = s.maximum(in[0], zero), low = s.minimum(in[0], zero);
      return s.add(high, log2OfOnePlus(s, s.exp2Below127(s.sub(low, high))));
    });
    return {t.map({sums[0], t.reduce(Reduction::Add, "c", logs)}, {"r"},
                  [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); })};
  }

  /// The log of the remaining mass must be exact if it is a result, so no key is skipped then.
  void annotate(StreamOp stream) override {
    if (!a.earlyExit || a.statistic)
      return;
    stream.setStopCarry(0);
    stream.setStopBelow(APFloat(kStopBelow));
  }
  void store(TileBuilder &t, ValueRange state, ValueRange sums) override {
    if (a.statistic)
      t.store(t.scaled(sums[0], 1.0 / kLog2E), a.statistic);
    if (!a.rest)
      return;
    t.store(t.map({state[0], t.position("r")}, {"r"},
                  [](Scalar &s, ValueRange in) {
                    Value exists =
                        s.create<arith::CmpIOp>(arith::CmpIPredicate::sge, in[1], s.index(0));
                    return s.select(exists, in[0], s.number(-1.0));
                  }),
            a.rest);
  }

  /// Snapshots contain the mass left by all nearer keys, which a part does not know.
  bool merges() const override { return !a.residual; }
  MergedState merge(TileBuilder &t, ValueRange first, ValueRange second) override {
    Value left = t.map({first[0], second[0]}, {"r"},
                       [](Scalar &s, ValueRange in) { return s.mul(in[0], in[1]); });
    return {{left}, {}, first[0]};
  }

private:
  Value z; // of the current block
};

class StickBreakingBackward : public BackwardPass {
public:
  using BackwardPass::BackwardPass;

  Order order() const override { return farthestFirst(a); }
  bool keepsWeights() const override { return true; }
  SmallVector<Value> start(TileBuilder &t, Value) override {
    if (a.dStatistic)
      dRest = t.load(a.dStatistic, {"r"});
    return {a.dRest ? t.load(a.dRest, {"r"}) : t.constant(0.0, {"r"})};
  }

  void enterBlock(TileBuilder &t) override { nearest = t.load(a.residual, {"r"}); }
  Weights emitWeights(TileBuilder &t, Value score) override {
    Value z = masked(t, a, score, kMasked);
    SmallVector<Value> sigma = t.mapMany({z}, {"r", "c"}, 2, [](Scalar &s, ValueRange in) {
      Value u = emitOdds(s, in[0]);
      Value keep = s.approximateReciprocal(s.add(u, s.number(1.0)));
      return SmallVector<Value>{s.mul(u, keep), keep};
    });
    beta = sigma[0], keep = sigma[1];
    Value before = t.scan(ScanKind::Mul, nearestFirst(a), keep, Value(), nearest, true).first;
    return {pairProduct(t, before, beta), beta};
  }
  SmallVector<Value> emitScores(TileBuilder &t, const WeightCotangents &c) override {
    Value dA = pairProduct(t, c.products, c.factor);
    auto [older, carry] =
        t.scan(ScanKind::Linear, order(), keep, pairProduct(t, beta, dA), c.carries[0], true);
    Value dZ =
        t.map({c.weights.weights, keep, dA, older}, {"r", "c"}, [](Scalar &s, ValueRange in) {
          return s.mul(s.mul(in[0], in[1]), s.sub(in[2], in[3]));
        });
    if (dRest) // d log(mass left) / dz = -beta
      dZ = t.map({dZ, beta, dRest}, {"r", "c"},
                 [](Scalar &s, ValueRange in) { return s.sub(in[0], s.mul(in[1], in[2])); });
    return {dZ, carry};
  }

  void annotate(StreamOp stream) override {
    if (!a.earlyExit || a.dStatistic)
      return;
    stream.getSkipBufferMutable().assign(a.residual);
    stream.setSkipBelow(APFloat(kStopBelow));
  }

private:
  Value dRest;               // the cotangent of the logarithm of the mass left, or null
  Value nearest, beta, keep; // of the current block
};

class StickBreakingMerge : public MergeRule {
public:
  bool weighsFirst() const override { return false; }
  void merge(Scalar &s, const MergeParts &l, Write write) const override {
    write(Slot::Second, s.create<math::ExpOp>(l.first));
    write(Slot::Whole, s.add(l.first, l.second));
  }
  void reverse(Scalar &s, const MergeParts &weights, const MergeParts &products, Value dStatistic,
               Write write) const override {
    write(Slot::First, s.add(s.mul(weights.second, products.second), dStatistic));
    write(Slot::Second, dStatistic);
  }
};

class StickBreaking : public Normalizer {
public:
  /// Snapshots of the mass left before every block of keys.
  Value createResidual(PlanContext &context, const Twine &attention) const override {
    return context.buffer(attention + "_mass", Role::Residual, {"b", "hq", "kb", "r"});
  }
  std::unique_ptr<ForwardPass> forward(const Attention &a, double) const override {
    return std::make_unique<StickBreakingForward>(a);
  }
  std::unique_ptr<BackwardPass> backward(const Attention &a) const override {
    return std::make_unique<StickBreakingBackward>(a);
  }
  const MergeRule *mergeRule() const override {
    static const StickBreakingMerge rule;
    return &rule;
  }
};

} // namespace

namespace mlir::tile {
const Normalizer &stickBreaking() {
  static const StickBreaking instance;
  return instance;
}
} // namespace mlir::tile
