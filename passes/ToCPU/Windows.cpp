//===- Windows.cpp - contractions with vectors of the distance -------------===//
//
// Contractions with the vectors P[i - j] of a table [d, t], except those over depth (SweepEmitter):
//
//   window_sum     lanes along rows: at a key, the rows of a strip have consecutive distances, so
//                  every product has its own load
//   window_outer   lanes along depth: a few consecutive distances at a time, whose pairs are on
//                  diagonals of the block, by rows in memory
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/MicroKernels.h"
#include "passes/ToCPU/StripEmitter.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

void StripEmitter::emitWindowSum(WindowSumOp op, const Panel &into) {
  const StripPlace &place = values.getPlace();
  const CpuSchedule &cpu = context.cpu;
  Value table = op.getTable(), memory = context.memory(table);
  Index pitch = context.pitch(table), keyEnd = place.keyEnd;
  if (mask.isOn())
    keyEnd = minOf(keyEnd, context.columns - place.block);
  Index keyBegin = place.keyBegin;
  if (op.getLow()) {
    const Index first = context.distanceOf(place.row, place.block); // of the first row and key
    keyBegin = maxOf(keyBegin, first - Index(op.getHighAttr().getInt()));
    keyEnd = minOf(keyEnd, first + place.rowCount - Index(op.getLowAttr().getInt()));
    keyEnd = maxOf(keyEnd, keyBegin);
  }
  Index first =
      context.offset(table, place.place()) + place.row - place.block + context.columns - Index(1);
  TileShape shape = {cpu.depthRows, cpu.queryVectors, mask.isOn() ? 1 : cpu.unroll};
  e.loop(0, context.depthOf(spacesOf(op.getRows())), cpu.depthRows, [&](Index d) {
    auto placeOf = [&](int64_t row, int64_t v) {
      return into.at + (d + Index(row)) * Index(cpu.stripRows()) + Index(v * e.lanes);
    };
    SmallVector<Value> acc;
    for (int64_t i = 0; i < cpu.depthRows; ++i)
      for (int64_t v = 0; v < cpu.queryVectors; ++v)
        acc.push_back(e.loadVector(into.memory, placeOf(i, v)));
    auto weights = [&](Index key, int64_t v) {
      return e.loadVector(slots.getMemory(), slots.at(op.getValue(), key, Index(v * e.lanes)));
    };
    auto vectors = [&](Index key, int64_t i) {
      SmallVector<Value> row;
      for (int64_t v = 0; v < cpu.queryVectors; ++v)
        row.push_back(
            e.loadVector(memory, first - key + (d + Index(i)) * pitch + Index(v * e.lanes)));
      return row;
    };
    auto isInside = [&](Index key, int64_t, int64_t v) { return lanesInside(key, v); };
    acc = mask.isOn() ? emitTileProductOfRowsAndPairs(e, shape, keyBegin, keyEnd, acc, weights,
                                                      vectors, isInside)
                      : emitTileProductOfRows(e, shape, keyBegin, keyEnd, acc, weights, vectors);
    for (int64_t i = 0; i < cpu.depthRows; ++i)
      for (int64_t v = 0; v < cpu.queryVectors; ++v)
        e.storeVector(acc[i * cpu.queryVectors + v], into.memory, placeOf(i, v));
  });
}

namespace mlir::tile::cpu {

/// The pairs of a strip and a block, padded with zeros before the first key and after the last, so
/// that a few adjacent diagonals can be read as if they had the same rows.
struct PaddedPairs {
  PaddedPairs(StageContext &context, const StripPlace &place, int64_t pad)
      : e(context.e), place(place), pad(pad), rows(context.cpu.stripRows()),
        keyEnd(minOf(place.keyEnd, context.columns - place.block)),
        memory(e.scratch((context.cpu.keyBlock + 2 * pad) * rows)) {}

  /// Returns the place of row `row` at a key, which is at most `pad` keys outside the block.
  Index at(const Index &key, const Index &row) const {
    return (key - place.keyBegin + Index(pad)) * Index(rows) + row;
  }
  void fill(llvm::function_ref<Value(Index, int64_t)> pair) {
    fill(place.keyBegin - Index(pad), place.keyBegin, [&](Index, int64_t) { return e.splat(0.0); });
    fill(keyEnd, keyEnd + Index(pad), [&](Index, int64_t) { return e.splat(0.0); });
    fill(place.keyBegin, keyEnd, pair);
  }

  Emitter &e;
  const StripPlace &place;
  int64_t pad, rows;
  Index keyEnd;
  Value memory;

private:
  void fill(const Index &begin, const Index &end, llvm::function_ref<Value(Index, int64_t)> pair) {
    e.loop(begin, end, 1, [&](Index key) {
      for (int64_t v = 0; v * e.lanes < rows; ++v)
        e.storeVector(pair(key, v), memory, at(key, Index(v * e.lanes)));
    });
  }
};

} // namespace mlir::tile::cpu

void StripEmitter::emitWindowOuter(WindowOuterOp op) {
  const StripPlace &place = values.getPlace();
  PaddedPairs pairs(context, place, context.cpu.columnRows - 1);
  Index begin = Index(1) - pairs.keyEnd, end = place.rowCount - place.keyBegin;
  if (!op.getLow())
    return emitDiagonals(op, pairs, begin, end);
  const Index first = context.distanceOf(place.row, place.block); // of diagonal 0
  begin = maxOf(begin, Index(op.getLowAttr().getInt()) - first);
  end = minOf(end, Index(op.getHighAttr().getInt() + 1) - first);
  e.ifThen(e.less(begin, end), [&] { emitDiagonals(op, pairs, begin, end); });
}

/// Emits the diagonals row - key = `begin` ... `end` - 1, and up to `columnRows` - 1 more.
void StripEmitter::emitDiagonals(WindowOuterOp op, PaddedPairs &pairs, const Index &begin,
                                 const Index &end) {
  const CpuSchedule &cpu = context.cpu;
  pairs.fill([&](Index key, int64_t v) {
    return e.loadVector(slots.getMemory(), slots.at(op.getValue(), key, Index(v * e.lanes)));
  });
  const int64_t depth = context.depthOf(spacesOf(op.getRows()));
  const int64_t step = cpu.columnVectors * e.lanes, whole = depth / step * step;
  e.loop(begin, end, cpu.columnRows, [&](Index diagonal) {
    auto chunk = [&](const Index &d, int64_t vectors, int64_t width) {
      emitDiagonals(op, pairs, diagonal, d, vectors, width);
    };
    e.loop(0, whole, step, [&](Index d) { chunk(d, cpu.columnVectors, e.lanes); });
    int64_t d = whole;
    if (int64_t vectors = (depth - d) / e.lanes) {
      chunk(d, vectors, e.lanes);
      d += vectors * e.lanes;
    }
    if (d != depth)
      chunk(d, 1, depth - d);
  });
}

/// Emits the diagonals from row - key = `diagonal` on, `vectors` vectors of `width` lanes of depth
/// from `d`.
void StripEmitter::emitDiagonals(WindowOuterOp op, const PaddedPairs &pairs, const Index &diagonal,
                                 const Index &d, int64_t vectors, int64_t width) {
  const StripPlace &place = values.getPlace();
  const int64_t tile = context.cpu.columnRows;
  Value table = op.getTable(), into = context.memory(table);
  Value buffer = op.getRows().getDefiningOp<LoadOp>().getBuffer(), rows = context.memory(buffer);
  Index base = context.offset(buffer, place.place()), rowPitch = context.pitch(buffer);
  Index entry = place.row - place.block + context.columns - Index(1) + diagonal;
  Index first = context.offset(table, place.place());
  auto placeOf = [&](int64_t m, int64_t v) {
    return first + (entry + Index(m)) * context.pitch(table) + d + Index(v * width);
  };
  SmallVector<Value> acc;
  for (int64_t m = 0; m < tile; ++m)
    for (int64_t v = 0; v < vectors; ++v)
      acc.push_back(e.loadVector(into, placeOf(m, v), width));
  auto rowAt = [&](Index r, int64_t v) {
    return e.loadVector(rows, base + r * rowPitch + d + Index(v * width), width);
  };
  auto pairAt = [&](Index r, int64_t m) {
    return e.load(pairs.memory, pairs.at(r - diagonal - Index(m), r));
  };
  auto isInside = [&](Index r, int64_t m, int64_t) -> Value {
    Index key = r - diagonal - Index(m);
    Value isKey =
        e.create<arith::AndIOp>(e.less(place.keyBegin - Index(1), key), e.less(key, pairs.keyEnd));
    if (!mask.isOn())
      return isKey;
    Index known = maxOf(place.keyBegin, minOf(key, pairs.keyEnd - Index(1)));
    return e.create<arith::AndIOp>(isKey, isPairInside(place, r, known));
  };
  Index begin = maxOf(0, diagonal + place.keyBegin);
  Index end = minOf(place.rowCount, diagonal + Index(tile - 1) + pairs.keyEnd);
  TileShape shape = {tile, vectors, 1, width};
  acc = emitTileProductOfPairs(e, shape, begin, end, acc, rowAt, pairAt, isInside);
  for (int64_t m = 0; m < tile; ++m)
    for (int64_t v = 0; v < vectors; ++v)
      e.storeVector(acc[m * vectors + v], into, placeOf(m, v));
}
