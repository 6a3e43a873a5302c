//===- Merge.cpp - merging two partial results of one attention -----------===//
#include "passes/ToTile/Merge.h"

#include "passes/ToTile/Attention.h"
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

static Value exponential(Scalar &s, Value x) { return s.create<math::ExpOp>(x); }

Merge::Merge(PlanContext &context, std::string stem, bool isSoftmax, const AttentionResults &first,
             const AttentionResults &second, const AttentionResults &whole, Parameter *sinks)
    : context(context), name(std::move(stem)), isSoftmax(isSoftmax), first(first), second(second),
      whole(whole), parameter(sinks) {
  auto weights = [&](StringRef what) {
    return context.kept(name + "_" + what + "_weights", {"b", "hq", "r"});
  };
  if (isSoftmax)
    firstWeights = weights("first");
  secondWeights = weights("second");
  if (!parameter)
    return;
  sinkWeights = weights("sink");
  if (context.grad)
    sinkRows = context.temporary(name + "_sink_rows", {"b", "hq", "r"});
}

void Merge::eachRow(StringRef suffix, Phase phase,
                    llvm::function_ref<void(Scalar &, ValueRange)> body) {
  TileBuilder t = beginStage(context.plan, (name + suffix).str(), phase, {"b", "hq"});
  t.foreach ({"r"}, body);
}

/// Read and write an element of a buffer as f64; a null buffer reads as 0 and ignores writes.
Value Merge::wide(Scalar &s, Value buffer, ValueRange at) {
  Type f64 = s.getF64Type();
  return buffer ? s.create<arith::ExtFOp>(f64, readElement(s, buffer, at)).getResult()
                : s.number(0.0, f64);
}
void Merge::write(Scalar &s, Value number, Value buffer, ValueRange at) {
  if (buffer)
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), number), buffer, at);
}

//===- Forward ----------------------------------------------------------------===//

void Merge::writeSoftmaxWeights(Scalar &s, ValueRange row, Value a, Value b) {
  Type f64 = s.getF64Type();
  Value zero = s.number(0.0, f64), lowest = s.number(-INFINITY, f64);
  Value logit = parameter ? wide(s, parameter->buffer, row[1]) : Value();
  Value largest = s.maximum(a, b);
  if (logit)
    largest = s.maximum(largest, logit);
  // If both parts are empty, the weights are 0, and the logarithm is log(0).
  Value isEmpty = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, largest, lowest);
  Value shift = s.select(isEmpty, zero, largest);
  auto share = [&](Value x) { return exponential(s, s.sub(x, shift)); };
  Value ea = share(a), eb = share(b), sum = s.add(ea, eb);
  Value es = logit ? share(logit) : Value();
  if (es)
    sum = s.add(sum, es);
  auto store = [&](Value x, Value buffer) {
    write(s, s.select(isEmpty, zero, s.div(x, sum)), buffer, row);
  };
  store(ea, firstWeights);
  store(eb, secondWeights);
  if (es)
    store(es, sinkWeights);
  write(s, s.add(shift, s.create<math::LogOp>(sum)), whole.lse, row);
}

void Merge::emitWeights() {
  eachRow("_weights", Phase::Forward, [&](Scalar &s, ValueRange row) {
    Value a = wide(s, first.lse, row), b = wide(s, second.lse, row);
    if (isSoftmax)
      return writeSoftmaxWeights(s, row, a, b);
    write(s, exponential(s, a), secondWeights, row);
    write(s, s.add(a, b), whole.lse, row);
  });
}

/// Returns the element times the weight of its row, in f32.
static Value weighted(Scalar &s, Value weights, Value buffer, ValueRange at) {
  Value element = s.widen(readElement(s, buffer, at));
  return weights ? s.mul(readElement(s, weights, at.drop_back()), element) : element;
}

void Merge::emitForward() {
  emitWeights();
  TileBuilder t = beginStage(context.plan, name, Phase::Forward, {"b", "hq"});
  t.foreach ({"r", "e"}, [&](Scalar &s, ValueRange at) {
    Value sum =
        s.add(weighted(s, firstWeights, first.o, at), weighted(s, secondWeights, second.o, at));
    writeElement(s, s.round(sum, elementOf(whole.o)), whole.o, at);
  });
}

//===- Backward ---------------------------------------------------------------===//

void Merge::writeSoftmaxGradients(Scalar &s, ValueRange row, Value p1, Value p2, Value dl) {
  Value w1 = wide(s, firstWeights, row), w2 = wide(s, secondWeights, row);
  Value ws = wide(s, sinkWeights, row);
  auto store = [&](Value own, Value ownPart, Value other, Value otherPart, Value buffer) {
    Value change = s.sub(s.mul(s.add(other, ws), ownPart), s.mul(other, otherPart));
    write(s, s.mul(own, s.add(change, dl)), buffer, row);
  };
  store(w1, p1, w2, p2, first.dLse);
  store(w2, p2, w1, p1, second.dLse);
  if (!parameter)
    return;
  Value mean = s.add(s.mul(w1, p1), s.mul(w2, p2));
  write(s, s.mul(ws, s.sub(dl, mean)), sinkRows, row);
}

void Merge::emitLogGradients() {
  eachRow("_d_logs", Phase::Backward, [&](Scalar &s, ValueRange row) {
    auto product = [&](Value o) {
      return sumOver(s, {"e"}, [&](Scalar &x, ValueRange dim) {
        SmallVector<Value> at(row);
        at.append(dim.begin(), dim.end());
        return x.mul(x.widen(readElement(x, whole.dO, at)), x.widen(readElement(x, o, at)));
      });
    };
    Value dl = wide(s, whole.dLse, row), p2 = product(second.o);
    if (isSoftmax)
      return writeSoftmaxGradients(s, row, product(first.o), p2, dl);
    write(s, s.add(s.mul(wide(s, secondWeights, row), p2), dl), first.dLse, row);
    write(s, dl, second.dLse, row);
  });
}

void Merge::emitBackward() {
  emitLogGradients();
  for (auto [part, weights] : {std::pair(first, firstWeights), {second, secondWeights}}) {
    const bool isFirst = part.o == first.o;
    TileBuilder t = beginStage(context.plan, name + (isFirst ? "_d_first" : "_d_second"),
                               Phase::Backward, {"b", "hq"});
    t.foreach ({"r", "e"}, [&](Scalar &s, ValueRange at) {
      Value gradient = weighted(s, weights, whole.dO, at);
      writeElement(s, s.round(gradient, elementOf(part.dO)), part.dO, at);
    });
  }
  if (parameter)
    finishLogits(context, name + "_sink_finish", sinkRows, *parameter);
}
