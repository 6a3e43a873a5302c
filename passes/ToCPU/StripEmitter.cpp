//===- StripEmitter.cpp - one strip of rows against one block of keys -----===//
#include "passes/ToCPU/StripEmitter.h"

#include "passes/ToCPU/Biases.h"
#include "passes/ToCPU/MicroKernels.h"
#include "passes/ToCPU/SweepEmitter.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

void StripEmitter::emit(const RowPanels &panels, const ColumnFolds &folds) {
  mask.begin(context, values.getPlace());
  for (const StripSchedule::Step &step : schedule.steps) {
    emitSweep(step, folds, /*hasScores=*/false);
    for (Operation *op : step.rowDots) {
      const Panel &into = panels.find(op->getResult(0))->second;
      if (auto dot = dyn_cast<DotOp>(op))
        emitRowDot(dot, into);
      else
        emitWindowSum(cast<WindowSumOp>(op), into);
    }
  }
}

/// Emits a step without its contractions over c.
void StripEmitter::emitSweep(const StripSchedule::Step &step, const ColumnFolds &folds,
                             bool hasScores) {
  for (Operation *op : step.rowOps)
    emitRowOp(op);
  for (Operation *op : step.fills)
    emitFill(op);
  SweepEmitter(context, step, values, slots, schedule, mask, folds, hasScores).emit();
  for (Operation *op : step.blockOps)
    emitBlockOp(op);
}

void StripEmitter::emitRowOp(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return values.store(store, values.getPlace().block / Index(context.cpu.keyBlock));
  values.evaluate(op);
}

void StripEmitter::emitFill(Operation *op) {
  if (auto random = dyn_cast<RandomOp>(op))
    return cpu::emitRandom(context, values, slots, random);
  if (auto near = dyn_cast<NearOp>(op))
    return cpu::emitNear(context, values, slots, near);
  emitSegments(context, values, slots, cast<SegmentsOp>(op));
}

void StripEmitter::emitBlockOp(Operation *op) {
  if (auto grad = dyn_cast<WindowGradOp>(op))
    return cpu::emitWindowGrad(context, values, slots, grad);
  if (auto grad = dyn_cast<NearGradOp>(op))
    return cpu::emitNearGrad(context, values, slots, grad);
  if (auto outer = dyn_cast<WindowOuterOp>(op))
    return emitWindowOuter(outer);
  emitSegmentsGrad(context, values, slots, cast<SegmentsGradOp>(op));
}

/// Returns the mask of the lanes of vector `vector` whose pairs with the key are kept.
Value StripEmitter::lanesInside(const Index &key, int64_t vector) {
  Value inside = mask.at(values.getPlace().block + key, vector);
  if (!schedule.condition)
    return inside;
  Index at = slots.at(schedule.condition, key, Index(vector * e.lanes));
  Value where = e.isNotZero(e.loadVector(slots.getMemory(), at));
  return e.create<arith::AndIOp>(inside, where);
}

/// Emits O^T with lanes along rows, a few depths at a time, as a contraction over the block's keys.
void StripEmitter::emitRowDot(DotOp dot, const Panel &into) {
  if (context.cpu.isAlongKeys())
    return emitProductOfRows(dot, dot.getInit(), into);
  const StripPlace &place = values.getPlace();
  const CpuSchedule &cpu = context.cpu;
  const KeyPanel rows = context.keyPanel(dot.getRhs(), place.place());
  int64_t depth = context.depthOf(spacesOf(dot.getRhs())), pitch = cpu.stripRows();
  Value init = dot.getInit();
  if (init)
    values.preparePanel(init);
  Index keyEnd = place.keyEnd;
  if (mask.isOn())
    keyEnd = minOf(keyEnd, context.columns - place.block);
  TileShape shape = {cpu.depthRows, cpu.queryVectors, mask.isOn() ? 1 : cpu.unroll};
  shape.pairs = isByPairs(cpu, dot);
  const KeyPanel pairs = context.keyPairs(dot.getRhs());
  const Index begin = shape.pairs ? place.keyBegin / Index(2) : place.keyBegin;
  const Index end = shape.pairs ? ceilDiv(keyEnd, 2) : keyEnd;
  e.loop(0, depth, cpu.depthRows, [&](Index d) {
    auto placeOf = [&](int64_t row, int64_t v) {
      return into.at + (d + Index(row)) * Index(pitch) + Index(v * e.lanes);
    };
    SmallVector<Value> acc;
    for (int64_t i = 0; i < cpu.depthRows; ++i)
      for (int64_t v = 0; v < cpu.queryVectors; ++v)
        acc.push_back(init ? values.panelAt(init, d + Index(i), v)
                           : e.loadVector(into.memory, placeOf(i, v)));
    auto weights = [&](Index key, int64_t v) {
      const Index row = v * e.lanes;
      return shape.pairs ? e.loadVector(slots.getWords(), slots.atKeyPair(dot.getLhs(), key, row))
                         : e.loadVector(slots.getMemory(), slots.at(dot.getLhs(), key, row));
    };
    auto keyAt = [&](Index key, int64_t i) {
      const KeyPanel &from = shape.pairs ? pairs : rows;
      return e.load(from.memory, from.at + key * from.pitch + d + Index(i));
    };
    auto isInside = [&](Index key, int64_t, int64_t v) { return lanesInside(key, v); };
    acc = mask.isOn() ? emitTileProductOfPairs(e, shape, begin, end, acc, weights, keyAt, isInside)
                      : emitTileProduct(e, shape, begin, end, acc, weights, keyAt);
    for (int64_t i = 0; i < cpu.depthRows; ++i)
      for (int64_t v = 0; v < cpu.queryVectors; ++v)
        e.storeVector(acc[i * cpu.queryVectors + v], into.memory, placeOf(i, v));
  });
}

/// Returns true (an i1) if the pair of a row of the strip and a key of the block is kept.
Value StripEmitter::isPairInside(const StripPlace &place, const Index &row, const Index &key) {
  Value inside = mask.at(place.row + row, place.block + key);
  if (!schedule.condition)
    return inside;
  Value where = e.isNotZero(e.load(slots.getMemory(), slots.at(schedule.condition, key, row)));
  return e.create<arith::AndIOp>(inside, where);
}

/// Returns the number of keys in a tile of a column fold. If the depth has fewer vectors than a
/// tile, there are more keys, to keep enough products in flight.
static int64_t keysOfColumnTile(const CpuSchedule &cpu, int64_t depth) {
  const int64_t vectors = depth / cpu.lanes;
  if (vectors == 0 || vectors >= cpu.columnVectors)
    return cpu.columnRows;
  int64_t keys = cpu.keyUnit(); // the step of key loops
  while (keys > cpu.columnRows && keys * vectors > cpu.columnRows * cpu.columnVectors)
    keys /= 2;
  return keys % cpu.columnRows == 0 && cpu.keyUnit() % keys == 0 ? keys : cpu.columnRows;
}

/// Emits contractions with lanes along depth: a few keys by a few vectors of depth, over the rows
/// of the strip.
void StripEmitter::emitColumnDots(const StripPlace &place, const ColumnFolds &folds) {
  const CpuSchedule &cpu = context.cpu;
  for (DotOp dot : schedule.columnDots) {
    Value buffer = dot.getRhs().getDefiningOp<LoadOp>().getBuffer();
    const ColumnFold fold = folds.lookup(dot.getOutput());
    Value rows = context.memory(buffer), into = fold.memory;
    Index base = context.offset(buffer, place.place());
    Index rowPitch = context.pitch(buffer);
    int64_t depth = fold.depth;
    const int64_t keys = keysOfColumnTile(cpu, depth);
    const bool byPairs = isByPairs(cpu, dot);
    const Index end = byPairs ? ceilDiv(place.rowCount, 2) : place.rowCount;
    auto chunk = [&](const Index &key, const Index &d, int64_t vectors, int64_t width) {
      TileShape shape = {keys, vectors, place.masked ? 1 : cpu.unroll, width, byPairs};
      auto placeOf = [&](int64_t row, int64_t v) {
        return fold.place(key + Index(row), d + Index(v * width));
      };
      SmallVector<Value> acc;
      for (int64_t k = 0; k < keys; ++k)
        for (int64_t v = 0; v < vectors; ++v)
          acc.push_back(e.loadVector(into, placeOf(k, v), width));
      auto rowAt = [&](Index r, int64_t v) {
        const Index at = d + Index(v * width);
        if (!byPairs)
          return e.loadVector(rows, base + r * rowPitch + at, width);
        const Panel &pairs = values.getRowPairs(dot.getRhs());
        return e.loadVector(pairs.memory, pairs.at + r * Index(depth) + at, width);
      };
      auto weights = [&](Index r, int64_t k) {
        const Index row = key + Index(k);
        return byPairs ? e.load(slots.getWords(), slots.atRowPair(dot.getLhs(), row, r))
                       : e.load(slots.getMemory(), slots.at(dot.getLhs(), row, r));
      };
      auto isInside = [&](Index r, int64_t k, int64_t) {
        // Both operands of a row after the last, the second of a pair, are 0.
        const Index row = byPairs ? minOf(r, place.rowCount - Index(1)) : r;
        return isPairInside(place, row, key + Index(k));
      };
      acc = place.masked ? emitTileProductOfPairs(e, shape, 0, end, acc, rowAt, weights, isInside)
                         : emitTileProduct(e, shape, 0, end, acc, rowAt, weights);
      for (int64_t k = 0; k < keys; ++k)
        for (int64_t v = 0; v < vectors; ++v)
          e.storeVector(acc[k * vectors + v], into, placeOf(k, v));
    };
    int64_t step = cpu.columnVectors * e.lanes, whole = depth / step * step;
    e.loop(place.keyBegin, place.keyEnd, keys, [&](Index key) {
      e.loop(0, whole, step, [&](Index d) { chunk(key, d, cpu.columnVectors, e.lanes); });
      int64_t d = whole;
      if (int64_t vectors = (depth - d) / e.lanes) {
        chunk(key, d, vectors, e.lanes);
        d += vectors * e.lanes;
      }
      if (d != depth)
        chunk(key, d, 1, depth - d);
    });
  }
}
