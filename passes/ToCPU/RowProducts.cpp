//===- RowProducts.cpp - contractions of a few rows, with lanes along keys ---===//
//
// The methods of StripEmitter for contractions of one row or a tile of rows. Sums over the keys
// have vectors along depth, for every row:
//
//   o[e .. e + lanes) += p[key] * v[key][e .. e + lanes)    for all keys of the block
//
// Even and odd keys have separate accumulators, because a row has too few vectors along depth to
// hide the latency of a multiply-add. In a tile of rows, every vector of a key or a value is loaded
// once for all rows. A row has the same bits alone and in a tile, because its sums have the same
// order.
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/MicroKernels.h"
#include "passes/ToCPU/StripEmitter.h"
#include "passes/ToCPU/VectorMath.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

/// The body must not use sums over the keys, and their weights must stay in their slots.
bool StripEmitter::canShareTiles() const {
  if (context.tileRows == 1 || !context.sharesPanels() || !schedule.columnDots.empty())
    return false;
  bool hasProducts = false;
  for (const StripSchedule::Step &step : schedule.steps) {
    if (hasProducts && (!step.sweep.empty() || !step.fills.empty()))
      return false;
    hasProducts |= !step.rowDots.empty();
    for (Operation *op : step.rowDots)
      if (!isa<DotOp>(op) || !llvm::all_of(op->getUsers(), [](Operation *user) {
            return user->hasTrait<OpTrait::IsTerminator>();
          }))
        return false;
  }
  return llvm::all_of(slots.getScores(),
                      [](DotOp dot) { return dot.getLhs().getParentBlock() != dot->getBlock(); });
}

void StripEmitter::emitRows(int64_t count, llvm::function_ref<RowPanels(const Index &)> enter,
                            llvm::function_ref<void(const Index &)> leave) {
  for (DotOp dot : slots.getScores()) {
    SmallVector<Panel> queries;
    for (int64_t row = 0; row < count; ++row) {
      enter(row);
      queries.push_back(values.getPanel(dot.getLhs()));
    }
    emitScoresOfRows(dot, queries);
  }
  e.loop(0, count, 1, [&](Index row) {
    slots.select(row);
    RowPanels panels = enter(row);
    mask.begin(context, values.getPlace());
    for (const StripSchedule::Step &step : schedule.steps) {
      emitSweep(step, ColumnFolds(), /*hasScores=*/true);
      for (Operation *op : step.rowDots)
        if (Value init = cast<DotOp>(op).getInit())
          values.materialize(init, panels.find(op->getResult(0))->second);
    }
    leave(row);
  });
  slots.select(0);
  for (const StripSchedule::Step &step : schedule.steps)
    for (Operation *op : step.rowDots) {
      SmallVector<Panel> into;
      for (int64_t row = 0; row < count; ++row)
        into.push_back(enter(row).find(op->getResult(0))->second);
      emitProductOfRows(cast<DotOp>(op), Value(), into);
    }
}

/// Emits the sums of RowSweep.cpp for all keys of the block.
void StripEmitter::emitScoresOfRows(DotOp dot, ArrayRef<Panel> queries) {
  Place at = values.getPlace().place();
  at.c = values.getPlace().block;
  const KeyPanel keys = context.keyPanel(dot.getRhs(), at);
  const int64_t depth = context.depthOf(spacesOf(dot.getRhs()));
  const int64_t count = queries.size();
  e.loop(0, context.cpu.keyBlock, e.lanes, [&](Index first) {
    std::vector<SumsOfLanes> sums(count, SumsOfLanes(e));
    for (int64_t lane = 0; lane < e.lanes; ++lane) {
      const Index from = keys.at + (first + Index(lane)) * keys.pitch;
      SmallVector<Value> acc(count, e.splat(0.0));
      for (int64_t d = 0; d < depth; d += e.lanes) {
        Value some = d + e.lanes > depth ? e.laneMask(depth - d) : Value();
        keys.readAhead(e, from + Index(d), d / e.lanes, kOneLine);
        Value vector = some ? e.loadLanes(keys.memory, from + Index(d), some)
                            : e.loadVector(keys.memory, from + Index(d));
        for (auto [sum, panel] : llvm::zip_equal(acc, queries)) {
          Value query = e.loadVector(panel.memory, panel.at + Index(d));
          if (some)
            query = e.select(some, query, e.splat(0.0));
          sum = e.fma(query, vector, sum);
        }
      }
      for (auto [all, sum] : llvm::zip_equal(sums, acc))
        all.add(sum);
    }
    for (int64_t row = 0; row < count; ++row) {
      slots.select(row);
      e.storeVector(sums[row].get(), slots.getMemory(), slots.scoreAt(dot, first));
    }
  });
  slots.select(0);
}

/// The vectors along depth of a chunk: as many as two sets of accumulators leave registers for.
static int64_t vectorsOfChunk(const CpuSchedule &cpu, int64_t rows) {
  return std::max<int64_t>(1, 2 * cpu.columnVectors / rows);
}

/// Emits the products of all weights, even and odd keys separately, for `rows` rows.
static SmallVector<Value> emitSumsOfPairs(Emitter &e, int64_t rows, const Index &begin,
                                          const Index &end, ValueRange acc, TileOperand valueAt,
                                          TileOperand weight) {
  const int64_t count = acc.size(), vectors = count / rows;
  SmallVector<Value> sums(acc);
  sums.append(count, e.splat(0.0));
  sums = e.loop(begin, end, 2, sums, [&](Index key, ValueRange args) {
    SmallVector<Value> next(args);
    for (int64_t odd = 0; odd < 2; ++odd) {
      SmallVector<Value> weights;
      for (int64_t row = 0; row < rows; ++row)
        weights.push_back(e.broadcast(weight(key + Index(odd), row)));
      for (int64_t v = 0; v < vectors; ++v) {
        Value vector = valueAt(key + Index(odd), v);
        for (int64_t row = 0; row < rows; ++row) {
          Value &sum = next[odd * count + row * vectors + v];
          sum = e.fma(weights[row], vector, sum);
        }
      }
    }
    return next;
  });
  for (int64_t i = 0; i < count; ++i)
    sums[i] = e.add(sums[i], sums[count + i]);
  sums.truncate(count);
  return sums;
}

void StripEmitter::emitProductOfRows(DotOp dot, Value init, ArrayRef<Panel> into) {
  const StripPlace &place = values.getPlace();
  const KeyPanel keys = context.keyPanel(dot.getRhs(), place.place());
  const int64_t depth = context.depthOf(spacesOf(dot.getRhs())), rows = into.size();
  if (init)
    values.preparePanel(init);
  Index keyEnd = place.keyEnd;
  if (mask.isOn())
    keyEnd = minOf(keyEnd, context.columns - place.block);
  auto weight = [&](const Index &key, int64_t row) {
    slots.select(row);
    return e.load(slots.getMemory(), slots.at(dot.getLhs(), key, 0));
  };
  auto chunk = [&](const Index &d, int64_t vectors, Value some) {
    auto valueAt = [&](const Index &key, int64_t v) {
      const Index at = keys.at + key * keys.pitch + d + Index(v * e.lanes);
      if (!mask.isOn())
        keys.readAhead(e, at, v, rows > 1 ? kOneLine : kTwoLines);
      return some ? e.loadLanes(keys.memory, at, some) : e.loadVector(keys.memory, at);
    };
    auto placeOf = [&](int64_t row, int64_t v) { return into[row].at + d + Index(v * e.lanes); };
    SmallVector<Value> acc;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        acc.push_back(init ? values.panelAt(init, d + Index(v * e.lanes), 0)
                           : e.loadVector(into[row].memory, placeOf(row, v)));
    if (mask.isOn()) {
      auto isInside = [&](Index key, int64_t, int64_t) { return isPairInside(place, 0, key); };
      acc = emitTileProductOfPairs(e, {1, vectors}, place.keyBegin, keyEnd, acc, valueAt, weight,
                                   isInside);
    } else {
      acc = emitSumsOfPairs(e, rows, place.keyBegin, keyEnd, acc, valueAt, weight);
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        e.storeVector(acc[row * vectors + v], into[row].memory, placeOf(row, v));
    slots.select(0);
  };
  const int64_t most = vectorsOfChunk(context.cpu, rows), step = most * e.lanes;
  const int64_t chunks = depth / step * step, whole = depth / e.lanes * e.lanes;
  e.loop(0, chunks, step, [&](Index d) { chunk(d, most, Value()); });
  if (chunks != whole)
    chunk(chunks, (whole - chunks) / e.lanes, Value());
  if (whole != depth)
    chunk(whole, 1, e.laneMask(depth - whole));
}
