//===- RowProducts.cpp - sums over the keys of a row, with lanes along keys --===//
//
// The methods of StripEmitter that add to a panel of one row, whose vectors are along depth:
//
//   o[e .. e + lanes) += p[key] * v[key][e .. e + lanes)    for all keys of the block
//
// Even and odd keys have separate accumulators, because a row has too few vectors along depth to
// hide the latency of a multiply-add.
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/MicroKernels.h"
#include "passes/ToCPU/StripEmitter.h"
#include "passes/ToCPU/VectorMath.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

/// The vectors along depth of a chunk: as many as two sets of accumulators leave registers for.
static int64_t vectorsOfChunk(const CpuSchedule &cpu) { return 2 * cpu.columnVectors; }

void StripEmitter::emitProductOfRow(DotOp dot, const Panel &into) {
  const StripPlace &place = values.getPlace();
  const KeyPanel rows = context.keyPanel(dot.getRhs(), place.place());
  const int64_t depth = context.depthOf(spacesOf(dot.getRhs()));
  Value init = dot.getInit();
  if (init)
    values.preparePanel(init);
  Index keyEnd = place.keyEnd;
  if (mask.isOn())
    keyEnd = minOf(keyEnd, context.columns - place.block);
  auto weight = [&](const Index &key) {
    return e.load(slots.getMemory(), slots.at(dot.getLhs(), key, 0));
  };
  auto chunk = [&](const Index &d, int64_t vectors, Value some) {
    auto valueAt = [&](const Index &key, int64_t v) {
      const Index at = rows.at + key * rows.pitch + d + Index(v * e.lanes);
      return some ? e.loadLanes(rows.memory, at, some) : e.loadVector(rows.memory, at);
    };
    SmallVector<Value> acc;
    for (int64_t v = 0; v < vectors; ++v) {
      const Index at = d + Index(v * e.lanes);
      acc.push_back(init ? values.panelAt(init, at, 0) : e.loadVector(into.memory, into.at + at));
    }
    if (mask.isOn()) {
      auto isInside = [&](Index key, int64_t, int64_t) { return isPairInside(place, 0, key); };
      acc = emitTileProductOfPairs(
          e, {1, vectors}, place.keyBegin, keyEnd, acc, valueAt,
          [&](Index key, int64_t) { return weight(key); }, isInside);
    } else {
      acc.append(vectors, e.splat(0.0));
      acc = e.loop(place.keyBegin, keyEnd, 2, acc, [&](Index key, ValueRange sums) {
        SmallVector<Value> next;
        for (int64_t odd = 0; odd < 2; ++odd) {
          Value p = e.broadcast(weight(key + Index(odd)));
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(e.fma(p, valueAt(key + Index(odd), v), sums[odd * vectors + v]));
        }
        return next;
      });
      for (int64_t v = 0; v < vectors; ++v)
        acc[v] = e.add(acc[v], acc[vectors + v]);
    }
    for (int64_t v = 0; v < vectors; ++v)
      e.storeVector(acc[v], into.memory, into.at + d + Index(v * e.lanes));
  };
  const int64_t most = vectorsOfChunk(context.cpu), step = most * e.lanes;
  const int64_t chunks = depth / step * step, whole = depth / e.lanes * e.lanes;
  e.loop(0, chunks, step, [&](Index d) { chunk(d, most, Value()); });
  if (chunks != whole)
    chunk(chunks, (whole - chunks) / e.lanes, Value());
  if (whole != depth)
    chunk(whole, 1, e.laneMask(depth - whole));
}
