//===- Merge.cpp - merging two partial results of one attention -----------===//
#include "passes/ToTile/Merge.h"

#include "passes/ToTile/Sink.h"
#include "passes/ToTile/Terms.h"

using namespace mlir;
using namespace mlir::tile;

Merge::Merge(PlanContext &context, std::string stem, const MergeRule &rule,
             const AttentionResults &first, const AttentionResults &second,
             const AttentionResults &whole, Parameter *sinks)
    : context(context), name(std::move(stem)), rule(rule), first(first), second(second),
      whole(whole), parameter(sinks) {
  auto weights = [&](StringRef what) {
    return context.kept(name + "_" + what + "_weights", {"b", "hq", "r"});
  };
  if (rule.weighsFirst())
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

static Value bufferOf(MergeRule::Slot slot, Value first, Value second, Value sink, Value whole) {
  const Value values[] = {first, second, sink, whole};
  return values[static_cast<size_t>(slot)];
}

void Merge::emitWeights() {
  eachRow("_weights", Phase::Forward, [&](Scalar &s, ValueRange row) {
    MergeParts statistics{wide(s, first.statistic, row), wide(s, second.statistic, row),
                          parameter ? wide(s, parameter->buffer, row[1]) : Value()};
    rule.merge(s, statistics, [&](MergeRule::Slot slot, Value value) {
      write(s, value, bufferOf(slot, firstWeights, secondWeights, sinkWeights, whole.statistic),
            row);
    });
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

void Merge::emitStatisticGradients() {
  eachRow("_d_logs", Phase::Backward, [&](Scalar &s, ValueRange row) {
    auto product = [&](Value o) {
      return sumOver(s, {"e"}, [&](Scalar &x, ValueRange dim) {
        SmallVector<Value> at(row);
        at.append(dim.begin(), dim.end());
        return x.mul(x.widen(readElement(x, whole.dO, at)), x.widen(readElement(x, o, at)));
      });
    };
    auto weight = [&](Value buffer) { return buffer ? wide(s, buffer, row) : Value(); };
    Value dStatistic = wide(s, whole.dStatistic, row);
    MergeParts products{{}, product(second.o), {}};
    if (firstWeights)
      products.first = product(first.o);
    MergeParts weights{weight(firstWeights), weight(secondWeights), weight(sinkWeights)};
    rule.reverse(s, weights, products, dStatistic, [&](MergeRule::Slot slot, Value value) {
      write(s, value, bufferOf(slot, first.dStatistic, second.dStatistic, sinkRows, Value()), row);
    });
  });
}

void Merge::emitBackward() {
  emitStatisticGradients();
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
