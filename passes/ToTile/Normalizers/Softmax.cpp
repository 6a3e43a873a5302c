//===- Softmax.cpp - the softmax normalizer -------------------------------===//
//
// Forward: per query row the running maximum m, the sum l of exp2(s - m) and the unnormalized
// output o are carried over the keys in ascending order (Dao et al. 2022, arXiv 2205.14135,
// algorithm 1; Milakov and Gimelshein 2018, arXiv 1805.02867). The sum l is exactly 0 if a row has
// no key, or only keys with a bias of minus infinity. A NaN among the scores may not reach m, but
// it reaches l and o.
//
// Backward: with p = exp2(s - lse log2(e)) and delta_i = <dO_i, O_i> (minus the cotangent of
// log-sum-exp), dS_ij = p_ij (<dO_i, V_j> - delta_i) (the same paper, appendix B). A factor on the
// weights changes neither delta nor lse. Nothing is carried from key block to key block, so the
// schedule may let rows or columns own the loop.
//
// Merging: with w_n = exp(l_n - l), w_s the weight of the sink, and p_n = <dO, o_n>:
//
//   dl_1 = w_1 ((w_2 + w_s) p_1 - w_2 p_2 + dl)
//   d_s  = w_s (dl - w_1 p_1 - w_2 p_2)
//
// w_2 + w_s replaces 1 - w_1, which may cancel.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Normalizer.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Returns true (i1) if the row has a key or a NaN.
Value sawKey(Scalar &s, Value sum) {
  return s.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, sum, s.number(0.0));
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

class SoftmaxForward : public ForwardPass {
public:
  SoftmaxForward(const Attention &attention, double unit) : ForwardPass(attention), unit(unit) {}

  SmallVector<Value> start(TileBuilder &t) override {
    if (!a.start)
      return startPart(t);
    auto [maximum, sum] = a.start->emit(t, unit);
    return {maximum, sum};
  }

  ForwardWeights emit(TileBuilder &t, Value score, ValueRange state) override {
    Value m = state[0], l = state[1];
    Value s = masked(t, a, score, kMasked);
    Value blockMax = t.reduce(Reduction::Max, "c", s);
    Value newMax =
        t.map({m, blockMax}, {"r"}, [](Scalar &x, ValueRange in) { return x.max(in[0], in[1]); });
    auto exp2OfDifference = [&](Scalar &x, ValueRange in) {
      // Subtracting first makes the weight of the largest score exactly 1, however large it is.
      // pe-rescale-rarely matches this form.
      return x.exp2Below127(inUnits(x, x.sub(in[0], in[1])));
    };
    Value alpha = t.map({m, newMax}, {"r"}, exp2OfDifference);
    Value p = t.map({s, newMax}, {"r", "c"}, exp2OfDifference);
    Value blockSum = t.reduce(Reduction::Add, "c", p);
    Value newSum = t.map({l, alpha, blockSum}, {"r"}, [](Scalar &x, ValueRange in) {
      return x.add(x.mul(in[0], in[1]), in[2]);
    });
    return {{p, p}, {newMax, newSum}, alpha, s};
  }

  SmallVector<Value> startPart(TileBuilder &t) override {
    return {t.constant(kLeastMaximum, {"r"}), t.constant(0.0, {"r"})};
  }
  MergedState merge(TileBuilder &t, ValueRange first, ValueRange second) override {
    return mergeSums(t, first, second, [&](Scalar &x, ValueRange in) {
      return x.exp2Below127(inUnits(x, x.sub(in[0], in[1])));
    });
  }

  Normalized emitOutput(TileBuilder &t, ValueRange state, Value o) override {
    l = state[1];
    shift = a.terms->emitRowShift(t);
    if (shift)
      l = shifted(t, l, shift);
    Value inverse = t.map({l}, {"r"}, [](Scalar &s, ValueRange in) {
      return s.select(sawKey(s, in[0]), s.approximateReciprocal(in[0]), s.number(0.0));
    });
    Value out = t.map({o, inverse, l}, {"r", "e"}, [](Scalar &s, ValueRange in) {
      return s.select(sawKey(s, in[2]), s.mul(in[0], in[1]), s.number(0.0));
    });
    return {out, state[0], inverse};
  }

  void store(TileBuilder &t, ValueRange state, ValueRange) override {
    Value m = state[0];
    // In natural units, and minus infinity for a row without keys, so that results can be merged.
    auto lse = [&](ValueRange sums) {
      return t.map(sums, {"r"}, [&](Scalar &s, ValueRange in) {
        Value sum = s.add(s.log2(in[0]), inUnits(s, in[1]));
        if (in.size() > 2)
          sum = s.add(sum, in[2]);
        return s.select(sawKey(s, in[0]), s.mul(sum, s.number(1.0 / kLog2E)), s.number(-INFINITY));
      });
    };
    // The backward pass subtracts this value; it does not add the shift.
    if (a.residual)
      t.store(lse({l, m}), a.residual);
    if (a.statistic)
      t.store(lse(shift ? SmallVector<Value>{l, m, shift} : SmallVector<Value>{l, m}), a.statistic);
  }

private:
  Value inUnits(Scalar &x, Value value) const {
    return unit == 1.0 ? value : x.mul(value, x.number(unit));
  }

  double unit;
  Value l, shift; // the sum and the row shift (null without one) after the last key
};

class SoftmaxBackward : public BackwardPass {
public:
  using BackwardPass::BackwardPass;

  SmallVector<Value> start(TileBuilder &t, Value dO) override {
    lse = emitSubtrahend(t, a);
    rowConstant = emitRowConstant(t, a, dO);
    if (a.start)
      ofSink = a.start->emitGradient(t, lse, rowConstant);
    return {};
  }

  Value startOfScores(TileBuilder &t, Value terms) override {
    if (terms)
      return t.map({terms, lse}, {"r", "c"},
                   [](Scalar &s, ValueRange in) { return s.sub(in[0], in[1]); });
    return t.map({lse}, {"r"}, [](Scalar &s, ValueRange in) { return s.neg(in[0]); });
  }
  Weights emitWeights(TileBuilder &t, Value score) override {
    Value p = masked(
        t, a,
        t.map({score}, {"r", "c"}, [](Scalar &s, ValueRange in) { return s.exp2Below127(in[0]); }),
        0.0);
    return {p, p};
  }
  /// A factor is applied to the products before the row constant is added.
  Value startOfProducts(bool hasFactor) const override { return hasFactor ? Value() : rowConstant; }
  SmallVector<Value> emitScores(TileBuilder &t, const WeightCotangents &c) override {
    Value p = c.weights.weights;
    if (!c.factor)
      return {pairProduct(t, p, c.products)};
    return {t.map({p, c.products, c.factor, rowConstant}, {"r", "c"}, [](Scalar &s, ValueRange in) {
      return s.mul(in[0], s.add(s.mul(in[1], in[2]), in[3]));
    })};
  }
  void store(TileBuilder &t) override {
    if (ofSink)
      a.start->storeGradient(t, ofSink);
  }

private:
  Value lse;         // in units of log2
  Value rowConstant; // -delta
  Value ofSink;      // the gradient of the sink's logit; null without one
};

class SoftmaxMerge : public MergeRule {
public:
  bool weighsFirst() const override { return true; }

  void merge(Scalar &s, const MergeParts &statistics, Write write) const override {
    auto [a, b, logit] = statistics;
    Value zero = s.number(0.0, a.getType()), lowest = s.number(-INFINITY, a.getType());
    Value largest = s.maximum(a, b);
    if (logit)
      largest = s.maximum(largest, logit);
    // If both parts are empty, the weights are 0, and the logarithm is log(0).
    Value isEmpty = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, largest, lowest);
    Value shift = s.select(isEmpty, zero, largest);
    auto share = [&](Value x) -> Value { return s.create<math::ExpOp>(s.sub(x, shift)); };
    Value ea = share(a), eb = share(b), sum = s.add(ea, eb), es = logit ? share(logit) : Value();
    if (es)
      sum = s.add(sum, es);
    for (auto [slot, x] : {std::pair(Slot::First, ea), {Slot::Second, eb}, {Slot::Sink, es}})
      if (x)
        write(slot, s.select(isEmpty, zero, s.div(x, sum)));
    write(Slot::Whole, s.add(shift, s.create<math::LogOp>(sum)));
  }

  void reverse(Scalar &s, const MergeParts &w, const MergeParts &p, Value dl,
               Write write) const override {
    Value ofSink = w.sink ? w.sink : s.number(0.0, dl.getType());
    auto gradient = [&](Value own, Value ownPart, Value other, Value otherPart) {
      Value change = s.sub(s.mul(s.add(other, ofSink), ownPart), s.mul(other, otherPart));
      return s.mul(own, s.add(change, dl));
    };
    write(Slot::First, gradient(w.first, p.first, w.second, p.second));
    write(Slot::Second, gradient(w.second, p.second, w.first, p.first));
    if (!w.sink)
      return;
    Value mean = s.add(s.mul(w.first, p.first), s.mul(w.second, p.second));
    write(Slot::Sink, s.mul(w.sink, s.sub(dl, mean)));
  }
};

class Softmax : public Normalizer {
public:
  bool readsOutput() const override { return true; }
  /// A start must stay finite in the unit of products.
  std::optional<double> leastUnit(const Attention &a) const override {
    return a.start ? 0x1p-60 : 0.0;
  }
  /// The log-sum-exp without the terms that depend only on the query.
  Value createResidual(PlanContext &context, const Twine &attention) const override {
    return context.buffer(attention + "_lse", Role::Residual, {"b", "hq", "r"});
  }
  std::unique_ptr<ForwardPass> forward(const Attention &a, double unit) const override {
    return std::make_unique<SoftmaxForward>(a, unit);
  }
  std::unique_ptr<BackwardPass> backward(const Attention &a) const override {
    return std::make_unique<SoftmaxBackward>(a);
  }
  const MergeRule *mergeRule() const override {
    static const SoftmaxMerge rule;
    return &rule;
  }
};

} // namespace

namespace mlir::tile {
const Normalizer &softmax() {
  static const Softmax instance;
  return instance;
}
} // namespace mlir::tile
