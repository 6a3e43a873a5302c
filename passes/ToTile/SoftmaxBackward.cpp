//===- SoftmaxBackward.cpp - gradients of softmax attention ---===//
//
// With p = exp2(s - lse) and delta_i = <dO_i, O_i> (minus the cotangent of log-sum-exp):
//   dV_j = sum_i p_ij dO_i,  dS_ij = p_ij (<dO_i, V_j> - delta_i),
//   dQ_i = scale sum_j dS_ij K_j,  dK_j = scale sum_i dS_ij Q_i
// (Dao et al. 2022, arXiv 2205.14135, appendix B). Nothing is carried from key block to
// key block, so the schedule may let rows or columns own the loop.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Attention.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// -delta, plus the cotangent of log-sum-exp where there is one: what is added to <dO, V>.
Value emitRowConstant(TileBuilder &t, const Attention &a, Value dO) {
  Value product = t.map({t.load(a.o, Spaces::RE), dO}, Spaces::RE,
                        [](Scalar &s, ValueRange in) { return s.mul(in[0], in[1]); });
  Value delta = t.reduce(Reduction::Add, Axis::E, product);
  if (!a.dLse)
    return t.map({delta}, Spaces::R, [](Scalar &s, ValueRange in) { return s.neg(in[0]); });
  return t.map({t.load(a.dLse, Spaces::R), delta}, Spaces::R,
               [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); });
}

} // namespace

void mlir::tile::emitSoftmaxBackward(TileBuilder &plan, const Attention &a) {
  TileBuilder t = beginStage(plan, a.name + "_backward", Phase::Backward, {"b", "hkv"}, a.mask);
  Value rawQ = loadOperand(t, a, a.q, Spaces::RD);
  ScoreEmitter scoreEmitter(t, a, rawQ);
  // The row constant takes the same dO as dP does: then a row of dS adds up to zero.
  Value dO = loadOperand(t, a, a.dO, Spaces::RE);
  Value lse = t.load(a.lse, Spaces::R);
  Value rowConstant = emitRowConstant(t, a, dO);
  SmallVector<Type> folds = {t.type(Spaces::RD), t.type(Spaces::CD), t.type(Spaces::CE)};
  StreamOp stream = t.stream(Order::Any, {}, folds, [&](TileBuilder &body, ValueRange) {
    Value k = loadOperand(body, a, a.k, Spaces::CD), v = loadOperand(body, a, a.v, Spaces::CE);
    Value start;
    if (Value terms = a.terms->emit(body))
      start = body.map({terms, lse}, Spaces::RC,
                       [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); });
    else
      start = body.map({lse}, Spaces::R, [](Scalar &s, ValueRange in) { return s.neg(in[0]); });
    Value scores = scoreEmitter.emit(body, k, start);
    Value p = body.mask(body.map({scores}, Spaces::RC,
                                 [](Scalar &s, ValueRange in) { return s.exp2Below127(in[0]); }),
                        0.0);
    // Each value over pairs is used up as early as can be: fewer of them are kept at a time.
    Value dV = body.dot(body.rounded(p, a.operands), dO, Axis::R);
    Value dP = body.dot(dO, v, Axis::E, rowConstant);
    Value dS =
        body.map({p, dP}, Spaces::RC, [](Scalar &s, ValueRange in) { return s.mul(in[0], in[1]); });
    Value left = body.rounded(dS, a.operands);
    Value dK = body.dot(left, rawQ, Axis::R);
    a.terms->emitGradient(body, dS);
    return SmallVector<Value>{body.dot(left, k, Axis::C), dK, dV};
  });
  storeGradients(t, a, stream.getResult(0), stream.getResult(1), stream.getResult(2));
}
