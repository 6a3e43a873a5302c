//===- AttentionForward.cpp - the forward stage of every attention --------===//
#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// The scores of a forward stage. Without terms, scores that are scaled late remain products until
/// the normalizer uses them; the factor `unit` converts them to units of log2.
struct ForwardScores {
  ScoreEmitter emitter;
  double unit = 1.0;
  bool keepsProducts;

  ForwardScores(TileBuilder &t, const Attention &a)
      : emitter(t, a, loadOperand(t, a, a.rows.q, {"r", "d"})) {
    std::optional<double> least = a.normalizer->leastUnit(a);
    keepsProducts = least && emitter.scalesLater() && a.terms->isEmpty() && !a.transform &&
                    !a.content &&
                    emitter.factor() > *least; // the largest product is the largest score
    if (keepsProducts)
      unit = emitter.factor();
  }
  Value emit(TileBuilder &t, Value k) const {
    return keepsProducts ? t.dot(emitter.q, k, "d")
                         : emitter.emit(t, k, emitter.attention.terms->emit(t));
  }
};

/// Emits the forward stage. The carries are the state, the output, and the further sums of the
/// normalizer and of vectors that join the values.
class ForwardStage {
public:
  ForwardStage(TileBuilder &t, const Attention &attention)
      : t(t), a(attention), scores(t, attention),
        pass(attention.normalizer->forward(attention, scores.unit)) {}

  void emit() {
    SmallVector<Value> carries = pass->start(t);
    states = carries.size();
    carries.push_back(t.constant(0.0, {"r", "e"}));
    carries.append(pass->startSums(t));
    sums = carries.size() - states - 1;
    if (a.content)
      carries.append(a.content->carries(), t.constant(0.0, {"r"}));
    StreamOp stream =
        t.stream(pass->order(), carries, {},
                 [&](TileBuilder &body, ValueRange carries) { return emitBlock(body, carries); });
    pass->annotate(stream);
    finish(stream.getResults());
  }

private:
  SmallVector<Value> emitBlock(TileBuilder &body, ValueRange carries) const {
    ValueRange state = carries.take_front(states);
    Value o = carries[states];
    pass->enterBlock(body, state);
    Value k = loadOperand(body, a, a.rows.k, {"c", "d"}),
          v = loadOperand(body, a, a.rows.v, {"c", "e"});
    ForwardWeights w = pass->emit(body, scores.emit(body, k), state);
    if (w.decay)
      o = body.map({o, w.decay}, {"r", "e"},
                   [](Scalar &x, ValueRange in) { return x.mul(in[0], in[1]); });
    Value factor = a.factor ? a.factor->emit(body, w.zeros) : Value();
    Value weights = pairProduct(body, w.weights, factor);
    SmallVector<Value> next = std::move(w.state);
    next.push_back(body.dot(body.rounded(weights, a.operands), v, "c", o));
    next.append(pass->emitSums(body, carries.slice(states + 1, sums)));
    if (a.content)
      next.append(a.content->emitForward(body, w.scores, factor, weights, w.decay,
                                         carries.drop_front(next.size())));
    return next;
  }

  void finish(ValueRange results) {
    ValueRange state = results.take_front(states);
    Normalized out = pass->emitOutput(t, state, results[states]);
    if (a.oRest)
      storeRest(out.output);
    if (a.content)
      a.content->storeForward(t, out.output, out.maximum, out.factor,
                              results.drop_front(states + 1 + sums));
    else
      store(out.output);
    pass->store(t, state, results.slice(states + 1, sums));
    if (a.content)
      a.content->emitOutput();
  }

  void store(Value output) {
    t.store(output, a.o);
    if (a.oWide)
      t.store(output, a.oWide);
  }

  /// Stores the output minus its rounded value.
  void storeRest(Value output) {
    Type element = cast<BufferType>(a.oRest.getType()).getElementType();
    Value rest = t.map({output, t.rounded(output, element)}, {"r", "e"},
                       [](Scalar &x, ValueRange in) { return x.sub(in[0], in[1]); });
    t.store(rest, a.oRest);
  }

  TileBuilder &t;
  const Attention &a;
  ForwardScores scores;
  std::unique_ptr<ForwardPass> pass;
  size_t states = 0, sums = 0;
};

} // namespace

void mlir::tile::emitForward(TileBuilder &plan, const Attention &a) {
  TileBuilder t = beginStage(plan, a.name + "_forward", Phase::Forward, {"b", "hq"}, a.pairs);
  ForwardStage(t, a).emit();
}
