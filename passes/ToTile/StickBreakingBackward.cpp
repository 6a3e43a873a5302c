//===- StickBreakingBackward.cpp - gradients of stick-breaking attention --===//
//
// Keys are visited farthest first. With beta = sigma(z), R_j the mass before key j (after
// the nearer keys), j - 1 the next key farther away, and dA_j = <dO, V_j>:
//   U_j = beta_j dA_j + (1 - beta_j) U_{j-1},  dz_j = beta_j (1 - beta_j) R_j (dA_j - U_{j-1}).
// U starts at 0, or at the cotangent of the mass left, which is the weight of one more key.
// The other form, delta minus a running sum, cancels: up to 33 % error in a decay's
// gradient at 2048 keys (docs/numerics.md). R is rebuilt inside each block from the
// forward's snapshot at the block's nearest end. A factor on the weights multiplies <dO, V_j>
// and, in the gradient of values, the weight; its cotangent is the weight times <dO, V_j>.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Attention.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

SmallVector<Value> emitBlock(TileBuilder &t, const Attention &a, Value rawQ,
                             const ScoreEmitter &scores, Value dO, Value dRest, Value carry) {
  Value nearest = t.load(a.mass, {"r"});
  Value k = loadOperand(t, a, a.k, {"c", "d"}), v = loadOperand(t, a, a.v, {"c", "e"});
  Score score = scores.emitScore(t, k, a.terms->emit(t));
  Value z = masked(t, a, score.value, kMasked);
  SmallVector<Value> sigma = t.mapMany({z}, {"r", "c"}, 2, [](Scalar &s, ValueRange in) {
    Value u = s.exp2Below127(s.minimum(in[0], s.number(120.0)));
    Value keep = s.approximateReciprocal(s.add(u, s.number(1.0)));
    return SmallVector<Value>{s.mul(u, keep), keep};
  });
  Value beta = sigma[0], keep = sigma[1];
  Value before = t.scan(ScanKind::Mul, nearestFirst(a), keep, Value(), nearest, true).first;
  Value weight = pairProduct(t, before, beta);
  Value factor = a.factor ? a.factor->emit(t, beta) : Value();
  Value product = t.dot(dO, v, "e");
  if (factor && a.factor->isLearned())
    a.factor->emitGradient(t, pairProduct(t, weight, product));
  Value dA = pairProduct(t, product, factor);
  auto [older, newCarry] =
      t.scan(ScanKind::Linear, farthestFirst(a), keep, pairProduct(t, beta, dA), carry, true);
  Value dZ = t.map({weight, keep, dA, older}, {"r", "c"}, [](Scalar &s, ValueRange in) {
    return s.mul(s.mul(in[0], in[1]), s.sub(in[2], in[3]));
  });
  if (dRest) // d log(mass left) / dz = -beta
    dZ = t.map({dZ, beta, dRest}, {"r", "c"},
               [](Scalar &s, ValueRange in) { return s.sub(in[0], s.mul(in[1], in[2])); });
  SmallVector<Value> ofTerms = a.terms->emitGradient(t, dZ);
  Value left = t.rounded(backThrough(t, a, score, dZ), a.operands),
        weights = t.rounded(pairProduct(t, weight, factor), a.operands);
  SmallVector<Value> all = {newCarry, t.dot(left, k, "c"), t.dot(left, rawQ, "r"),
                            t.dot(weights, dO, "r")};
  all.append(ofTerms);
  return all;
}

} // namespace

void mlir::tile::emitStickBreakingBackward(TileBuilder &plan, const Attention &a) {
  TileBuilder t = beginStage(plan, a.name + "_backward", Phase::Backward, {"b", "hkv"}, a.pairs);
  Value rawQ = loadOperand(t, a, a.q, {"r", "d"});
  ScoreEmitter scores(t, a, rawQ);
  Value dO = loadOperand(t, a, a.dO, {"r", "e"});
  Value dRest = a.dLse ? t.load(a.dLse, {"r"}) : Value();
  Value start = a.dRest ? t.load(a.dRest, {"r"}) : t.constant(0.0, {"r"});
  SmallVector<Type> folds = backwardFolds(t, a);
  StreamOp stream =
      t.stream(farthestFirst(a), {start}, folds, [&](TileBuilder &body, ValueRange carries) {
        return emitBlock(body, a, rawQ, scores, dO, dRest, carries[0]);
      });
  if (a.earlyExit && !a.dLse) {
    stream.getSkipBufferMutable().assign(a.mass);
    stream.setSkipBelow(APFloat(kStopBelow));
  }
  storeGradients(t, a, ValueRange(stream.getResults()).drop_front());
}
