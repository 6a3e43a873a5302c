//===- StickBreakingForward.cpp - stick-breaking attention ----------------===//
//
// Keys are visited nearest first. With u = exp(z) and t = 1 / (1 + u) = 1 - sigma(z), the
// mass left after a key is R <- R t and the key's weight is R_before sigma(z) = R_after u
// (Tan et al. 2024, arXiv 2410.17980; docs/encodings/stick-breaking.md). The backward pass needs R
// at the beginning of each block, in stream order.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Attention.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Emits log2(1 + x) for x in [0, 1]. The factor x / (u - 1) compensates the rounding of u = 1 + x
/// (Kahan 1983, cited in Goldberg 1991, theorem 4); the many tiny x of far keys add up.
Value log2OfOnePlus(Scalar &s, Value x) {
  Value one = s.number(1.0), u = s.add(x, one);
  Value isLost = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, u, one);
  Value factor = s.mul(x, s.approximateReciprocal(s.sub(u, one)));
  return s.select(isLost, s.mul(x, s.number(kLog2E)), s.mul(s.log2(u), factor));
}

SmallVector<Value> emitBlock(TileBuilder &t, const Attention &a, const ScoreEmitter &scores,
                             ValueRange carries) {
  Value rest = carries[0], o = carries[1];
  if (a.mass)
    t.store(rest, a.mass);
  Value k = loadOperand(t, a, a.k, {"c", "d"}), v = loadOperand(t, a, a.v, {"c", "e"});
  Value z = masked(t, a, scores.emit(t, k, a.terms->emit(t)), kMasked);
  SmallVector<Value> odds = t.mapMany({z}, {"r", "c"}, 2, [](Scalar &s, ValueRange in) {
    // sigma is exactly 1 in f32 long before 120, and exp2(120) is still finite.
    Value u = s.exp2Below127(s.minimum(in[0], s.number(120.0)));
    return SmallVector<Value>{u, s.approximateReciprocal(s.add(u, s.number(1.0)))};
  });
  auto [after, newRest] = t.scan(ScanKind::Mul, nearestFirst(a), odds[1], Value(), rest, false);
  Value weight = pairProduct(t, after, odds[0]);
  if (a.factor)
    weight = pairProduct(t, weight, a.factor->emit(t, odds[0]));
  SmallVector<Value> next = {newRest, t.dot(t.rounded(weight, a.operands), v, "c", o)};
  if (a.lseResult) { // sums logs, because the mass itself underflows
    Value logs = t.map({z}, {"r", "c"}, [](Scalar &s, ValueRange in) {
      // log2(1 + 2^z) without overflow.
      Value zero = s.number(0.0), high = s.maximum(in[0], zero), low = s.minimum(in[0], zero);
      return s.add(high, log2OfOnePlus(s, s.exp2Below127(s.sub(low, high))));
    });
    next.push_back(t.map({carries[2], t.reduce(Reduction::Add, "c", logs)}, {"r"},
                         [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); }));
  }
  return next;
}

} // namespace

void mlir::tile::emitStickBreakingForward(TileBuilder &plan, const Attention &a) {
  TileBuilder t = beginStage(plan, a.name + "_forward", Phase::Forward, {"b", "hq"}, a.pairs);
  ScoreEmitter scores(t, a, loadOperand(t, a, a.q, {"r", "d"}));
  SmallVector<Value> start = {t.constant(1.0, {"r"}), t.constant(0.0, {"r", "e"})};
  if (a.lseResult)
    start.push_back(t.constant(0.0, {"r"}));
  StreamOp stream =
      t.stream(nearestFirst(a), start, {}, [&](TileBuilder &body, ValueRange carries) {
        return emitBlock(body, a, scores, carries);
      });
  // The log of the remaining mass is itself a result and must be exact, so no key is skipped.
  if (a.earlyExit && !a.lseResult) {
    stream.setStopCarry(0);
    stream.setStopBelow(APFloat(kStopBelow));
  }
  t.store(stream.getResult(1), a.o);
  if (a.lseResult)
    t.store(t.scaled(stream.getResult(2), 1.0 / kLog2E), a.lseResult);
  if (a.rest)
    t.store(t.map({stream.getResult(0), t.position("r")}, {"r"},
                  [](Scalar &s, ValueRange in) {
                    Value exists =
                        s.create<arith::CmpIOp>(arith::CmpIPredicate::sge, in[1], s.index(0));
                    return s.select(exists, in[0], s.number(-1.0));
                  }),
            a.rest);
}
