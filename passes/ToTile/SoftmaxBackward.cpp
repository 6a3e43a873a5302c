//===- SoftmaxBackward.cpp - gradients of softmax attention ---===//
//
// With p = exp2(s - lse log2(e)) and delta_i = <dO_i, O_i> (minus the cotangent of log-sum-exp):
//   dV_j = sum_i p_ij dO_i,  dS_ij = p_ij (<dO_i, V_j> - delta_i),
//   dQ_i = scale sum_j dS_ij K_j,  dK_j = scale sum_i dS_ij Q_i
// (Dao et al. 2022, arXiv 2205.14135, appendix B).
//
// A factor f_ij on the weights multiplies p_ij in dV and <dO_i, V_j> in dS; delta and lse are
// unchanged. The cotangent of the factor is p_ij <dO_i, V_j>. Nothing is carried from key block to
// key block, so the schedule may let rows or columns own the loop.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Attention.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Returns -delta, plus the cotangent of log-sum-exp if given. It is added to <dO, V>.
Value emitRowConstant(TileBuilder &t, const Attention &a, Value dO) {
  Value o = t.load(a.o, {"r", "e"});
  if (a.oRest)
    o = t.map({o, t.load(a.oRest, {"r", "e"})}, {"r", "e"},
              [](Scalar &s, ValueRange in) { return s.add(in[0], in[1]); });
  Value product =
      t.map({o, dO}, {"r", "e"}, [](Scalar &s, ValueRange in) { return s.mul(in[0], in[1]); });
  Value delta = t.reduce(Reduction::Add, "e", product);
  if (!a.dLse)
    return t.map({delta}, {"r"}, [](Scalar &s, ValueRange in) { return s.neg(in[0]); });
  return t.map({t.load(a.dLse, {"r"}), delta}, {"r"},
               [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); });
}

/// Returns the log-sum-exp in units of log2. It is plus infinity for a row without keys, so that
/// the weight of every pair is 0 regardless of its score.
Value emitSubtrahend(TileBuilder &t, const Attention &a) {
  return t.map({t.load(a.lse, {"r"})}, {"r"}, [](Scalar &s, ValueRange in) {
    Value isEmpty = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, in[0], s.number(-INFINITY));
    return s.select(isEmpty, s.number(INFINITY), s.mul(in[0], s.number(kLog2E)));
  });
}

/// Returns the start value of <dO, V>: the row constant, unless a factor is applied first, plus
/// <dO, P> if vectors are added to the values. Null means 0.
Value emitStartOfProducts(TileBuilder &t, const Attention &a, Value factor, Value rowConstant) {
  if (!a.content)
    return factor ? Value() : rowConstant;
  Value products = a.content->emitCotangent(t);
  if (factor)
    return products;
  return t.map({products, rowConstant}, {"r", "c"},
               [](Scalar &s, ValueRange in) { return s.add(in[0], in[1]); });
}

/// Returns dS. `dP` is <dO, V> if there is a factor, and already includes the row constant
/// otherwise.
Value emitScoreGradient(TileBuilder &t, Value p, Value factor, Value rowConstant, Value dP) {
  if (!factor)
    return pairProduct(t, p, dP);
  return t.map({p, dP, factor, rowConstant}, {"r", "c"}, [](Scalar &s, ValueRange in) {
    return s.mul(in[0], s.add(s.mul(in[1], in[2]), in[3]));
  });
}

} // namespace

void mlir::tile::emitSoftmaxBackward(TileBuilder &plan, const Attention &a) {
  if (a.content)
    a.content->prepareBackward();
  TileBuilder t = beginStage(plan, a.name + "_backward", Phase::Backward, {"b", "hkv"}, a.pairs);
  Value rawQ = loadOperand(t, a, a.q, {"r", "d"});
  ScoreEmitter scoreEmitter(t, a, rawQ);
  // The row constant uses the same dO as dP, so that a row of dS sums to zero.
  Value dO = loadOperand(t, a, a.dO, {"r", "e"});
  Value lse = emitSubtrahend(t, a);
  Value rowConstant = emitRowConstant(t, a, dO);
  Value dStart = a.start ? a.start->emitGradient(t, lse, rowConstant) : Value();
  SmallVector<Type> folds = backwardFolds(t, a);
  StreamOp stream = t.stream(Order::Any, {}, folds, [&](TileBuilder &body, ValueRange) {
    Value k = loadOperand(body, a, a.k, {"c", "d"}), v = loadOperand(body, a, a.v, {"c", "e"});
    Value start;
    if (Value terms = a.terms->emit(body))
      start = body.map({terms, lse}, {"r", "c"},
                       [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); });
    else
      start = body.map({lse}, {"r"}, [](Scalar &s, ValueRange in) { return s.neg(in[0]); });
    Score score = scoreEmitter.emitScore(body, k, start);
    Value p = masked(body, a,
                     body.map({score.value}, {"r", "c"},
                              [](Scalar &s, ValueRange in) { return s.exp2Below127(in[0]); }),
                     0.0);
    // Each value over pairs is consumed as early as possible, so that few are live at once.
    Value factor = a.factor ? a.factor->emit(body, p) : Value();
    Value weights = pairProduct(body, p, factor);
    Value dV = body.dot(body.rounded(weights, a.operands), dO, "r");
    SmallVector<Value> ofContent;
    if (a.content)
      ofContent = a.content->emitGradient(body, weights);
    Value toProducts = emitStartOfProducts(body, a, factor, rowConstant);
    Value dP = body.dot(dO, v, "e", toProducts);
    if (factor && a.factor->isLearned())
      a.factor->emitGradient(body, pairProduct(body, p, dP));
    Value dS = emitScoreGradient(body, p, factor, rowConstant, dP);
    Value left = body.rounded(backThrough(body, a, score, dS), a.operands);
    Value dK = body.dot(left, rawQ, "r");
    SmallVector<Value> ofTerms = a.terms->emitGradient(body, dS);
    SmallVector<Value> all = {body.dot(left, k, "c"), dK, dV};
    all.append(ofTerms);
    all.append(ofContent);
    return all;
  });
  storeGradients(t, a, stream.getResults());
  if (dStart)
    a.start->storeGradient(t, dStart);
}
