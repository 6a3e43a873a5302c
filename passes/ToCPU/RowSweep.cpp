//===- RowSweep.cpp - one pass over the keys of a row, with lanes along keys -===//
//
// The methods of SweepEmitter if lanes are keys. A score is a sum over depth, so `lanes` keys are
// multiplied with the row along depth, with one accumulator per key, and the lanes of the
// accumulators are added:
//
//   acc[key] += q[d .. d + lanes) * k[key][d .. d + lanes)    for all d
//   s[key]    = sum of the lanes of acc[key]                  (emitSumsOfLanes)
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/SweepEmitter.h"
#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

Value SweepEmitter::emitRowDot(DotOp dot, int64_t key) {
  const Value init = dot.getInit();
  Value start;
  if (init)
    start = isRow(spacesOf(init)) ? vectorOfRow(init, 0) : element(init, key, 0);
  if (hasScores) {
    Value score = e.loadVector(slots.getMemory(), slots.scoreAt(dot, keys[key]));
    return start ? e.add(score, start) : score;
  }
  const KeyPanel keyRows = keyPanels.lookup(dot.getRhs());
  SmallVector<Index> from;
  for (int64_t lane = 0; lane < e.lanes; ++lane) {
    // Keys after the last are copies of it; the mask excludes them.
    Index row = mask.isOn() ? minOf(columnOf(key) + Index(lane), context.columns - Index(1))
                            : keys[key] + Index(lane);
    from.push_back(keyRows.at + row * keyRows.pitch);
  }
  const Panel &panel = values.getPanel(dot.getLhs());
  const int64_t depth = context.depthOf(spacesOf(dot.getRhs()));
  const int64_t whole = depth / e.lanes * e.lanes;
  // Key by key, so that the address of a key is computed once for `count` vectors.
  auto step = [&](const Index &d, int64_t count, Value some, ValueRange sums) {
    SmallVector<Value> queries, next;
    for (int64_t v = 0; v < count; ++v)
      queries.push_back(e.loadVector(panel.memory, panel.at + d + Index(v * e.lanes)));
    if (some)
      queries[0] = e.select(some, queries[0], e.splat(0.0));
    for (auto [given, at] : llvm::zip_equal(sums, from)) {
      Value sum = given;
      for (int64_t v = 0; v < count; ++v) {
        const Index element = at + d + Index(v * e.lanes);
        if (!mask.isOn())
          keyRows.readAhead(e, element, v, kTwoLines);
        sum = e.fma(queries[v],
                    some ? e.loadLanes(keyRows.memory, element, some)
                         : e.loadVector(keyRows.memory, element),
                    sum);
      }
      next.push_back(sum);
    }
    return next;
  };
  const int64_t most = context.cpu.columnVectors * 2, chunk = most * e.lanes;
  const int64_t chunks = whole / chunk * chunk;
  SmallVector<Value> sums(e.lanes, e.splat(0.0));
  if (chunks)
    sums = e.loop(0, chunks, chunk, sums,
                  [&](Index d, ValueRange args) { return step(d, most, Value(), args); });
  if (chunks != whole)
    sums = step(chunks, (whole - chunks) / e.lanes, Value(), sums);
  if (whole != depth)
    sums = step(whole, 1, e.laneMask(depth - whole), sums);
  // Values that are used after the contraction are in slots.
  registers.clear();
  masks.assign(keys.size(), Value());
  Value score = emitSumsOfLanes(e, sums);
  return start ? e.add(score, start) : score;
}

/// Emits sum over d of rows[d] * table[d][i - j]: the distances of a vector of keys are adjacent in
/// the table, in the opposite order.
Value SweepEmitter::emitRowWindowDot(WindowDotOp dot, int64_t key) {
  Value table = dot.getTable(), memory = context.memory(table);
  const Index pitch = context.pitch(table);
  const Panel &panel = values.getPanel(dot.getRows());
  const int64_t depth = context.depthOf(spacesOf(dot.getRows()));
  return e.loop(0, depth, 1, e.splat(0.0), [&](Index d, ValueRange sums) {
    Value vectors =
        loadDistances(e, memory, bases[table] + d * pitch, distance - keys[key], mask.isOn());
    Value row = e.broadcast(e.load(panel.memory, panel.at + d));
    return SmallVector<Value>{e.fma(row, vectors, sums[0])};
  })[0];
}

/// Returns `vector` moved by `by` lanes towards later keys (in the order of the scan), with `fill`
/// in the lanes that are free.
static Value movedLanes(Emitter &e, Value vector, Value fill, int64_t by, bool descending) {
  SmallVector<int64_t> from(e.lanes);
  for (int64_t lane = 0; lane < e.lanes; ++lane) {
    const int64_t source = descending ? lane + by : lane - by;
    from[lane] = source >= 0 && source < e.lanes ? source : e.lanes + lane;
  }
  return e.create<vector::ShuffleOp>(vector, fill, from);
}

/// Emits the products of the lanes before each lane, in log2(lanes) rounds (Hillis and Steele
/// 1986), times the carry.
Value SweepEmitter::emitRowScan(ScanOp scan, int64_t key) {
  const bool descending = scan.getOrder() == Order::Descending;
  Value ones = e.splat(1.0), &state = carryOf(scan).vectors[0];
  Value product = scanFactor(scan, key, 0);
  for (int64_t by = 1; by < e.lanes; by *= 2)
    product = e.mul(product, movedLanes(e, product, ones, by, descending));
  Value result =
      e.mul(scan.getExclusive() ? movedLanes(e, product, ones, 1, descending) : product, state);
  Value last = e.create<vector::ExtractOp>(product, descending ? 0 : e.lanes - 1);
  state = e.mul(e.broadcast(last), state);
  return result;
}

void SweepEmitter::finishRow(const Carry &carry) {
  Value lanes = carry.vectors[0];
  if (auto scan = dyn_cast<ScanOp>(carry.op))
    return values.setRow(scan.getCarryOut(), e.create<vector::ExtractOp>(lanes, 0).getResult());
  auto reduce = cast<ReduceOp>(carry.op);
  const bool adds = reduce.getKind() == Reduction::Add;
  values.setRow(reduce.getOutput(), adds ? e.sumLanes(lanes) : emitMaxOfLanes(e, lanes));
}
