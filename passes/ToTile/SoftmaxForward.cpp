//===- SoftmaxForward.cpp - softmax attention with running statistics -----===//
//
// Per query row the running maximum m, the sum l of exp2(s - m) and the unnormalized output o are
// carried over the keys in ascending order (Dao et al. 2022, arXiv 2205.14135, algorithm 1; Milakov
// and Gimelshein 2018, arXiv 1805.02867).
//
// The sum l is exactly 0 if a row has no key, or only keys with a bias of minus infinity. A NaN
// among the scores may not reach m, but it reaches l and o.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Attention.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Returns true (i1) if the row has a key or a NaN.
Value sawKey(Scalar &s, Value sum) {
  return s.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, sum, s.number(0.0));
}

/// The stream of the forward stage. Without terms, scores that are scaled late remain products
/// until the exponential; the factor `unit` converts them to units of log2.
struct ForwardBlock {
  const Attention &attention;
  ScoreEmitter scores;
  bool keepsProducts;
  double unit = 1.0;

  ForwardBlock(TileBuilder &t, const Attention &attention)
      : attention(attention),
        scores(t, attention, loadOperand(t, attention, attention.q, {"r", "d"})),
        keepsProducts(scores.scalesLater() && attention.terms->isEmpty() && !attention.transform &&
                      !attention.content &&
                      scores.factor() >
                          smallestUnit()) { // the largest product is the largest score
    if (keepsProducts)
      unit = scores.factor();
  }

  /// Returns the lower bound on the unit of products. A start must stay finite in these units.
  double smallestUnit() const { return attention.start ? 0x1p-60 : 0.0; }
  Value inUnits(Scalar &x, Value value) const {
    return keepsProducts ? x.mul(value, x.number(unit)) : value;
  }
  SmallVector<Value> emit(TileBuilder &t, ValueRange carries) const;
};

SmallVector<Value> ForwardBlock::emit(TileBuilder &t, ValueRange carries) const {
  const Attention &a = attention;
  Value m = carries[0], l = carries[1], o = carries[2];
  Value k = loadOperand(t, a, a.k, {"c", "d"}), v = loadOperand(t, a, a.v, {"c", "e"});
  Value s = keepsProducts ? t.dot(scores.q, k, "d") : scores.emit(t, k, a.terms->emit(t));
  s = masked(t, a, s, kMasked);
  Value blockMax = t.reduce(Reduction::Max, "c", s);
  Value newMax =
      t.map({m, blockMax}, {"r"}, [](Scalar &x, ValueRange in) { return x.max(in[0], in[1]); });
  auto exp2OfDifference = [&](Scalar &x, ValueRange in) {
    // Subtracting first makes the weight of the largest score exactly 1, however large it is.
    return x.exp2Below127(inUnits(x, x.sub(in[0], in[1])));
  };
  Value alpha = t.map({m, newMax}, {"r"}, exp2OfDifference);
  Value p = t.map({s, newMax}, {"r", "c"}, exp2OfDifference);
  Value blockSum = t.reduce(Reduction::Add, "c", p);
  Value newSum = t.map({l, alpha, blockSum}, {"r"},
                       [](Scalar &x, ValueRange in) { return x.add(x.mul(in[0], in[1]), in[2]); });
  Value kept =
      t.map({o, alpha}, {"r", "e"}, [](Scalar &x, ValueRange in) { return x.mul(in[0], in[1]); });
  Value factor = a.factor ? a.factor->emit(t, p) : Value(), weights = pairProduct(t, p, factor);
  SmallVector<Value> next = {newMax, newSum, t.dot(t.rounded(weights, a.operands), v, "c", kept)};
  if (a.content)
    next.append(
        a.content->emitForward(t, s, factor, weights, alpha, carries.drop_front(next.size())));
  return next;
}

/// Adds a term that depends only on the query. It cancels in the weights unless it is not finite:
/// minus infinity masks the row, and any other non-finite value makes the row NaN, if it has keys.
Value shifted(TileBuilder &t, Value l, Value shift) {
  return t.map({l, shift}, {"r"}, [](Scalar &s, ValueRange in) {
    auto isEqual = [&](Value value, double number) -> Value {
      return s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, value, s.number(number));
    };
    Value empty = s.create<arith::OrIOp>(isEqual(in[0], 0.0), isEqual(in[1], -INFINITY));
    return s.select(empty, s.number(0.0), s.add(in[0], s.sub(in[1], in[1])));
  });
}

} // namespace

void mlir::tile::emitSoftmaxForward(TileBuilder &plan, const Attention &a) {
  TileBuilder t = beginStage(plan, a.name + "_forward", Phase::Forward, {"b", "hq"}, a.pairs);
  ForwardBlock block(t, a);
  std::pair<Value, Value> statistics =
      a.start ? a.start->emit(t, block.unit)
              : std::pair(t.constant(kLeastMaximum, {"r"}), t.constant(0.0, {"r"}));
  SmallVector<Value> start = {statistics.first, statistics.second, t.constant(0.0, {"r", "e"})};
  if (a.content)
    start.append(a.content->carries(), t.constant(0.0, {"r"}));
  StreamOp stream =
      t.stream(Order::Ascending, start, {},
               [&](TileBuilder &body, ValueRange carries) { return block.emit(body, carries); });
  Value m = stream.getResult(0), l = stream.getResult(1), o = stream.getResult(2);
  Value shift = a.terms->emitRowShift(t);
  if (shift)
    l = shifted(t, l, shift);
  Value inverse = t.map({l}, {"r"}, [](Scalar &s, ValueRange in) {
    return s.select(sawKey(s, in[0]), s.approximateReciprocal(in[0]), s.number(0.0));
  });
  Value out = t.map({o, inverse, l}, {"r", "e"}, [](Scalar &s, ValueRange in) {
    return s.select(sawKey(s, in[2]), s.mul(in[0], in[1]), s.number(0.0));
  });
  if (a.oRest) {
    Type element = cast<BufferType>(a.oRest.getType()).getElementType();
    Value rest = t.map({out, t.rounded(out, element)}, {"r", "e"},
                       [](Scalar &x, ValueRange in) { return x.sub(in[0], in[1]); });
    t.store(rest, a.oRest);
  }
  if (a.content)
    a.content->storeForward(t, out, m, inverse, stream.getResults().drop_front(3));
  else
    t.store(out, a.o);
  // In natural units, and minus infinity for a row without keys, so that results can be merged.
  auto lse = [&](ValueRange sums) {
    return t.map(sums, {"r"}, [&](Scalar &s, ValueRange in) {
      Value sum = s.add(s.log2(in[0]), block.inUnits(s, in[1]));
      if (in.size() > 2)
        sum = s.add(sum, in[2]);
      return s.select(sawKey(s, in[0]), s.mul(sum, s.number(1.0 / kLog2E)), s.number(-INFINITY));
    });
  };
  // The backward pass subtracts this value; it does not add the shift.
  if (a.lse)
    t.store(lse({l, m}), a.lse);
  if (a.lseResult)
    t.store(lse(shift ? SmallVector<Value>{l, m, shift} : SmallVector<Value>{l, m}), a.lseResult);
  if (a.content)
    a.content->emitOutput();
}
