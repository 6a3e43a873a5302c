//===- AttentionBackward.cpp - the backward stage of every attention ------===//
//
// With A the weights, f a factor on them, and dS the cotangents of the scores:
//   dV_j = sum_i f_ij A_ij dO_i,  dA_ij = f_ij <dO_i, V_j>,
//   dQ_i = scale sum_j dS_ij K_j,  dK_j = scale sum_i dS_ij Q_i
// (Dao et al. 2022, arXiv 2205.14135, appendix B). The cotangent of the factor is A_ij <dO_i, V_j>.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class BackwardStage {
public:
  BackwardStage(TileBuilder &t, const Attention &attention)
      : t(t), a(attention), rawQ(loadOperand(t, attention, attention.rows.q, {"r", "d"})),
        scores(t, attention, rawQ),
        // Passes use the same dO as dP, so that a row of dS sums to zero under softmax.
        dO(loadOperand(t, attention, attention.dO, {"r", "e"})),
        pass(attention.normalizer->backward(attention)) {}

  void emit() {
    SmallVector<Value> start = pass->start(t, dO);
    SmallVector<Type> folds = backwardFolds(t, a);
    StreamOp stream =
        t.stream(pass->order(), start, folds,
                 [&](TileBuilder &body, ValueRange carries) { return emitBlock(body, carries); });
    pass->annotate(stream);
    storeGradients(t, a, ValueRange(stream.getResults()).drop_front(start.size()));
    pass->store(t);
  }

private:
  /// Returns the next carries, then the contributions to the folds.
  SmallVector<Value> emitBlock(TileBuilder &body, ValueRange carries) const {
    pass->enterBlock(body);
    Value k = loadOperand(body, a, a.rows.k, {"c", "d"}),
          v = loadOperand(body, a, a.rows.v, {"c", "e"});
    Value start = pass->startOfScores(body, a.terms->emit(body));
    Score score = scores.emitScore(body, k, start);
    Weights w = pass->emitWeights(body, score.value);
    Value factor = a.factor ? a.factor->emit(body, w.zeros) : Value();
    // Each value over pairs is consumed as early as possible, so that few are live at once.
    Value dV;
    SmallVector<Value> ofContent;
    if (!pass->keepsWeights()) {
      Value weights = pairProduct(body, w.weights, factor);
      dV = body.dot(body.rounded(weights, a.operands), dO, "r");
      if (a.content)
        ofContent = a.content->emitGradient(body, weights);
    }
    Value products = body.dot(dO, v, "e", startOfProducts(body, factor));
    if (factor && a.factor->isLearned())
      a.factor->emitGradient(body, pairProduct(body, w.weights, products));
    SmallVector<Value> next = pass->emitScores(body, {w, factor, products, carries});
    Value dS = next.front();
    next.erase(next.begin());
    next.append(dV ? emitFolds(body, k, score, dS, dV) : emitFolds(body, k, score, dS, w, factor));
    next.append(ofContent);
    return next;
  }

  /// Returns the start value of <dO, V>, including <dO, P> if vectors join the values.
  Value startOfProducts(TileBuilder &body, Value factor) const {
    Value start = pass->startOfProducts(/*hasFactor=*/static_cast<bool>(factor));
    if (!a.content)
      return start;
    Value products = a.content->emitCotangent(body);
    return !start ? products
                  : body.map({products, start}, {"r", "c"},
                             [](Scalar &s, ValueRange in) { return s.add(in[0], in[1]); });
  }

  Value cotangentOfProduct(TileBuilder &body, const Score &score, Value dS) const {
    return body.rounded(backThrough(body, a, score, dS), a.operands);
  }

  /// Returns the contributions to dQ, dK, dV and the gradients of the terms.
  SmallVector<Value> emitFolds(TileBuilder &body, Value k, const Score &score, Value dS,
                               Value dV) const {
    Value left = cotangentOfProduct(body, score, dS);
    Value dK = body.dot(left, rawQ, "r");
    SmallVector<Value> ofTerms = a.terms->emitGradient(body, dS);
    SmallVector<Value> folds = {body.dot(left, k, "c"), dK, dV};
    folds.append(ofTerms);
    return folds;
  }
  /// Returns the same if the gradient of the values comes last.
  SmallVector<Value> emitFolds(TileBuilder &body, Value k, const Score &score, Value dS,
                               const Weights &w, Value factor) const {
    SmallVector<Value> ofTerms = a.terms->emitGradient(body, dS);
    Value left = cotangentOfProduct(body, score, dS);
    Value weights = body.rounded(pairProduct(body, w.weights, factor), a.operands);
    SmallVector<Value> folds = {body.dot(left, k, "c"), body.dot(left, rawQ, "r"),
                                body.dot(weights, dO, "r")};
    folds.append(ofTerms);
    return folds;
  }

  TileBuilder &t;
  const Attention &a;
  Value rawQ;
  ScoreEmitter scores;
  Value dO;
  std::unique_ptr<BackwardPass> pass;
};

} // namespace

void mlir::tile::emitBackward(TileBuilder &plan, const Attention &a) {
  if (a.content)
    a.content->prepareBackward();
  TileBuilder t = beginStage(plan, a.name + "_backward", Phase::Backward, {"b", "hkv"}, a.pairs);
  BackwardStage(t, a).emit();
}
