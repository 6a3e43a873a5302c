//===- AttentionForward.cpp - the forward stages of every attention -------===//
//
// A call with many rows visits all keys of a row in one stage. A call with few rows, such as a step
// of decoding, has too few rows for the threads and vectors of a machine, so its keys are divided
// into splits:
//
//   forward_splits   over b, hkv, ks   the state over the keys of one split, for all query heads of
//                                      a key head, which read a key together
//   forward_merge    over b, hq        merges the states in the order of the splits, then the
//   output
//
// Splits follow from the number of keys alone, so the bits of a result do not depend on the batch
// or the threads. If the normalizer cannot merge states, one stage over b, hkv visits all keys.
//
#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// The scores of a forward stage. Without terms, scores that are scaled late remain products until
/// the normalizer uses them; the factor `unit` converts them to units of log2.
struct ForwardScores {
  ScoreEmitter emitter;

  ForwardScores(TileBuilder &t, const Attention &a)
      : emitter(t, a, loadOperand(t, a, a.rows.q, {"r", "d"})) {}
  static bool keepsProducts(const Attention &a) {
    std::optional<double> least = a.normalizer->leastUnit(a);
    return least && ScoreEmitter::scalesLater(a) && a.terms->isEmpty() && !a.transform &&
           !a.content &&
           ScoreEmitter::factor(a) > *least; // the largest product is the largest score
  }
  static double unitOf(const Attention &a) {
    return keepsProducts(a) ? ScoreEmitter::factor(a) : 1.0;
  }
  Value emit(TileBuilder &t, Value k) const {
    return keepsProducts(emitter.attention) ? t.dot(emitter.q, k, "d")
                                            : emitter.emit(t, k, emitter.attention.terms->emit(t));
  }
};

/// Emits the forward stage. The carries are the state, the output, and the further sums of the
/// normalizer and of vectors that join the values.
class ForwardStage {
public:
  ForwardStage(TileBuilder &t, const Attention &attention)
      : t(t), a(attention),
        pass(attention.normalizer->forward(attention, ForwardScores::unitOf(attention))) {}

  /// Visits all keys and stores the results.
  void emit() {
    scores.emplace(t, a);
    finish(emitStream(start(pass->start(t))).getResults());
  }
  /// Visits the keys of a split and stores the state, in buffers that `makeBuffer` returns for the
  /// spaces of a carry.
  SmallVector<Value> emitSplits(llvm::function_ref<Value(const SpaceSet &)> makeBuffer) {
    SmallVector<Value> buffers;
    scores.emplace(t, a);
    for (Value carry : emitStream(start(pass->startPart(t))).getResults()) {
      buffers.push_back(makeBuffer(spacesOf(carry)));
      t.store(carry, buffers.back());
    }
    return buffers;
  }
  /// Merges the states of all splits and stores the results.
  void emitMerge(ArrayRef<Value> buffers) {
    auto merge = [&](TileBuilder &body, ValueRange carries) {
      SmallVector<Value> loaded;
      for (auto [carry, buffer] : llvm::zip_equal(carries, buffers))
        loaded.push_back(body.load(buffer, spacesOf(carry)));
      return mergeParts(body, carries, loaded);
    };
    StreamOp stream =
        t.stream(pass->order(), start(pass->start(t)), {}, merge, /*overSplits=*/true);
    finish(stream.getResults());
  }

private:
  /// Returns the carries that begin with this state of the normalizer.
  SmallVector<Value> start(SmallVector<Value> carries) {
    states = carries.size();
    carries.push_back(t.constant(0.0, {"r", "e"}));
    carries.append(pass->startSums(t));
    sums = carries.size() - states - 1;
    if (a.content)
      carries.append(a.content->carries(), t.constant(0.0, {"r"}));
    return carries;
  }

  StreamOp emitStream(ValueRange carries) {
    StreamOp stream =
        t.stream(pass->order(), carries, {},
                 [&](TileBuilder &body, ValueRange carries) { return emitBlock(body, carries); });
    pass->annotate(stream);
    return stream;
  }

  SmallVector<Value> mergeParts(TileBuilder &body, ValueRange first, ValueRange second) const {
    MergedState merged = pass->merge(body, first.take_front(states), second.take_front(states));
    SmallVector<Value> next = std::move(merged.state);
    for (size_t i = states; i < first.size(); ++i) {
      const bool isWeighted = i == states || i > states + sums;
      next.push_back(emitSum(body, first[i], isWeighted ? merged.first : Value(), second[i],
                             isWeighted ? merged.second : Value()));
    }
    return next;
  }
  /// Returns x f + y g; a null factor is 1.
  static Value emitSum(TileBuilder &body, Value x, Value f, Value y, Value g) {
    SmallVector<Value> inputs = {x, y};
    for (Value factor : {f, g})
      if (factor)
        inputs.push_back(factor);
    return body.map(inputs, spacesOf(x), [&](Scalar &s, ValueRange in) {
      Value left = f ? s.mul(in[0], in[2]) : in[0];
      return s.add(left, g ? s.mul(in[1], in.back()) : in[1]);
    });
  }

  SmallVector<Value> emitBlock(TileBuilder &body, ValueRange carries) const {
    ValueRange state = carries.take_front(states);
    Value o = carries[states];
    pass->enterBlock(body, state);
    Value k = loadOperand(body, a, a.rows.k, {"c", "d"}),
          v = loadOperand(body, a, a.rows.v, {"c", "e"});
    ForwardWeights w = pass->emit(body, scores->emit(body, k), state);
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
  std::optional<ForwardScores> scores;
  std::unique_ptr<ForwardPass> pass;
  size_t states = 0, sums = 0;
};

} // namespace

MergedState mlir::tile::mergeSums(TileBuilder &t, ValueRange first, ValueRange second,
                                  ScalarFn power) {
  Value largest = t.map({first[0], second[0]}, {"r"},
                        [](Scalar &s, ValueRange in) { return s.max(in[0], in[1]); });
  Value f = t.map({first[0], largest}, {"r"}, power), g = t.map({second[0], largest}, {"r"}, power);
  Value sum = t.map({first[1], f, second[1], g}, {"r"}, [](Scalar &s, ValueRange in) {
    return s.add(s.mul(in[0], in[1]), s.mul(in[2], in[3]));
  });
  return {{largest, sum}, f, g};
}

/// Emits the form for calls with few rows, which run it `when` the expression is positive.
static void emitFewRows(PlanContext &context, const Attention &a, StringRef when) {
  TileBuilder &plan = context.plan;
  auto begin = [&](StringRef suffix, ArrayRef<StringRef> over, Value pairs) {
    return beginStage(plan, a.name + suffix.str(), Phase::Forward, over, pairs, when);
  };
  if (!a.normalizer->forward(a, 1.0)->merges()) {
    TileBuilder t = begin("_forward_few", {"b", "hkv"}, a.pairs);
    return ForwardStage(t, a).emit();
  }
  TileBuilder splits = begin("_forward_splits", {"b", "hkv", "ks"}, a.pairs);
  OpBuilder::InsertionGuard guard(plan);
  plan.setInsertionPoint(splits.getInsertionBlock()->getParentOp());
  unsigned number = 0;
  SmallVector<Value> buffers = ForwardStage(splits, a).emitSplits([&](const SpaceSet &spaces) {
    SmallVector<StringRef> extents = {"b", "hq", "ks"};
    llvm::append_range(extents, spaces.getNames());
    return context.temporary(a.name + "_split" + std::to_string(number++), extents);
  });
  plan.setInsertionPointToEnd(plan.getInsertionBlock());
  TileBuilder merge = begin("_forward_merge", {"b", "hq"}, /*pairs=*/Value());
  ForwardStage(merge, a).emitMerge(buffers);
}

void mlir::tile::emitForward(PlanContext &context, const Attention &a) {
  const int64_t few = context.fewRows;
  if (few)
    emitFewRows(context, a, std::to_string(few + 1) + " - r");
  TileBuilder t = beginStage(context.plan, a.name + "_forward", Phase::Forward, {"b", "hq"},
                             a.pairs, few ? "r - " + std::to_string(few) : "");
  ForwardStage(t, a).emit();
  if (a.content)
    a.content->emitOutput();
}
