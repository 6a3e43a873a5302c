//===- Segments.cpp - piecewise linear biases, tile by tile ---------------===//
#include "passes/ToCPU/Biases.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

/// The strip's window of u, its row factors v, and the kinks inside its range of t.
class SegmentStrip {
public:
  SegmentStrip(StageContext &context, const StripPlace &place, Value u, Value v, Value knots,
               Value slope, Value count);

  Value u(const Index &key, int64_t vector);
  Value v(int64_t vector) { return factors[vector]; }
  Value t(const Index &key, int64_t vector) { return e.mul(u(key, vector), v(vector)); }
  Value slopeOf(const Index &segment) { return e.load(slopes, slopeBase + segment); }
  /// slope[z + 1] - slope[z], in every lane.
  Value bend(const Index &z) { return e.broadcast(e.sub(slopeOf(z + Index(1)), slopeOf(z))); }
  Value knot(const Index &z) { return e.broadcast(e.load(knots, knotBase + z)); }
  void eachKey(llvm::function_ref<void(Index)> body) {
    e.loop(place.keyBegin, place.keyEnd, 1, body);
  }

  /// Kinks [firstKink, endKink) lie inside the range; the strip begins in segment firstKink.
  Index firstKink, endKink;

private:
  void findRange(Value &low, Value &high);
  Index kinksBelow(arith::CmpFPredicate predicate, Value bound, Value total);

  Emitter &e;
  const StripPlace &place;
  Value window, knots, slopes;
  Index windowBase, distance, knotBase, slopeBase;
  SmallVector<Value> factors;
};

} // namespace

SegmentStrip::SegmentStrip(StageContext &context, const StripPlace &place, Value u, Value v,
                           Value knotBuffer, Value slope, Value count)
    : e(context.e), place(place), window(context.memory(u)), knots(context.memory(knotBuffer)),
      slopes(context.memory(slope)), windowBase(context.offset(u, place.place())),
      distance(place.row - place.block + context.columns - Index(1)),
      knotBase(context.offset(knotBuffer, place.place())),
      slopeBase(context.offset(slope, place.place())) {
  Value rowFactors = context.memory(v);
  Index rowBase = context.offset(v, place.place());
  for (int64_t i = 0; i < context.cpu.queryVectors; ++i) {
    Index at = rowBase + Index(i * e.lanes);
    factors.push_back(
        place.masked ? e.loadLanes(rowFactors, at, e.laneMask(place.rowCount - Index(i * e.lanes)))
                     : e.loadVector(rowFactors, at));
  }
  Value low, high;
  findRange(low, high);
  Value total = e.load(context.memory(count), context.offset(count, place.place()));
  // NaN bounds include all kinks, because some entries may still be numbers.
  firstKink = kinksBelow(arith::CmpFPredicate::OLT, low, total);
  endKink = kinksBelow(arith::CmpFPredicate::ULT, high, total);
}

Value SegmentStrip::u(const Index &key, int64_t vector) {
  Index entry = place.masked ? maxOf(0, distance - key) : distance - key;
  return e.loadVector(window, windowBase + entry + Index(vector * e.lanes));
}

/// Bounds of t: products of the extremes of u over the window and of v over the rows. They may be
/// NaN if an entry is, but need not be.
void SegmentStrip::findRange(Value &low, Value &high) {
  // The window's entries, from the last key's first row to the first key's last existing row;
  // entries after them are undefined.
  Index last = place.keyEnd - Index(1);
  Index first = place.masked ? maxOf(0, distance - last) : distance - last;
  Index entries = distance - place.keyBegin + place.rowCount - first;
  Value start = e.broadcast(e.load(window, windowBase + first));
  SmallVector<Value> extremes =
      e.loop(0, entries, e.lanes, {start, start}, [&](Index i, ValueRange args) {
        Value entry = e.loadVector(window, windowBase + first + i);
        entry = e.select(e.laneMask(entries - i), entry, start);
        return SmallVector<Value>{e.smaller(entry, args[0]), e.larger(entry, args[1])};
      });
  Value vLow = factors[0], vHigh = factors[0];
  for (Value factor : factors) {
    vLow = e.smaller(factor, vLow);
    vHigh = e.larger(factor, vHigh);
  }
  auto lowest = [&](Value vector) {
    return e.create<vector::ReductionOp>(vector::CombiningKind::MINNUMF, vector).getResult();
  };
  Value us[] = {lowest(extremes[0]), e.maxLanes(extremes[1])};
  Value vs[] = {lowest(vLow), e.maxLanes(vHigh)};
  for (Value a : us)
    for (Value b : vs) {
      Value product = e.mul(a, b);
      low = low ? e.min(low, product) : product;
      high = high ? e.max(high, product) : product;
    }
}

/// How many of the `total` - 1 knots are below `bound`.
Index SegmentStrip::kinksBelow(arith::CmpFPredicate predicate, Value bound, Value total) {
  Value everyLane = e.broadcast(bound);
  Index kinks = e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), total)) - Index(1);
  Value zero = e.splatInt(0), one = e.splatInt(1);
  SmallVector<Value> counts = e.loop(0, kinks, e.lanes, {zero}, [&](Index z, ValueRange args) {
    Value exists = e.laneMask(kinks - z);
    Value knot = e.loadLanes(knots, knotBase + z, exists);
    Value below = e.create<arith::CmpFOp>(predicate, knot, everyLane);
    Value counted = e.create<arith::AndIOp>(exists, below);
    return SmallVector<Value>{e.create<arith::AddIOp>(args[0], e.select(counted, one, zero))};
  });
  Value sum = e.create<vector::ReductionOp>(vector::CombiningKind::ADD, counts[0]);
  return e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), sum));
}

void mlir::tile::cpu::emitSegments(StageContext &context, StripValues &values, const Slots &slots,
                                   SegmentsOp op) {
  Emitter &e = context.e;
  const StripPlace &place = values.getPlace();
  const int64_t vectors = context.cpu.queryVectors;
  SegmentStrip strip(context, place, op.getU(), op.getV(), op.getKnots(), op.getSlope(),
                     op.getCount());
  auto slotAt = [&](Index key, int64_t v) {
    return slots.at(op.getValue(), key, Index(v * e.lanes));
  };
  Index offsetBase = context.offset(op.getOffset(), place.place());
  Value offset = e.broadcast(e.load(context.memory(op.getOffset()), offsetBase + strip.firstKink));
  Value slope = e.broadcast(strip.slopeOf(strip.firstKink));
  SmallVector<Value> slopes;
  for (int64_t v = 0; v < vectors; ++v)
    slopes.push_back(e.mul(slope, strip.v(v)));
  strip.eachKey([&](Index key) {
    for (int64_t v = 0; v < vectors; ++v)
      e.storeVector(e.fma(strip.u(key, v), slopes[v], offset), slots.getMemory(), slotAt(key, v));
  });
  e.loop(strip.firstKink, strip.endKink, 1, [&](Index z) {
    Value bend = strip.bend(z), minusKnot = e.create<arith::NegFOp>(strip.knot(z));
    strip.eachKey([&](Index key) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value above = e.fma(strip.u(key, v), strip.v(v), minusKnot);
        Value hinge = e.larger(e.splat(0.0), above);
        Value sum = e.fma(hinge, bend, e.loadVector(slots.getMemory(), slotAt(key, v)));
        e.storeVector(sum, slots.getMemory(), slotAt(key, v));
      }
    });
  });
}

namespace {

/// Per-row sums of g and g * u over some of the strip's keys.
struct RowSums {
  SmallVector<Value> g, gu;
};

/// memory[at] += the sum of the lanes, in the buffer's type.
void addSum(Emitter &e, Value lanes, Value memory, const Index &at) {
  Value sum = e.sumLanes(lanes);
  if (cast<MemRefType>(memory.getType()).getElementType().isF64())
    sum = e.create<arith::ExtFOp>(e.getF64Type(), sum);
  e.store(e.create<arith::AddFOp>(e.load(memory, at), sum), memory, at);
}

class SegmentsGradEmitter {
public:
  SegmentsGradEmitter(StageContext &context, StripValues &values, const Slots &slots,
                      SegmentsGradOp op)
      : context(context), e(context.e), place(values.getPlace()), slots(slots), op(op),
        strip(context, place, op.getU(), op.getV(), op.getKnots(), op.getSlope(), op.getCount()),
        vectors(context.cpu.queryVectors) {
    if (op.getUGrad())
      staging = e.scratch(context.cpu.keyBlock * context.cpu.stripRows());
  }

  void emit() {
    Value slope = e.broadcast(strip.slopeOf(strip.firstKink));
    RowSums all = sumWhere(nullptr, slope);
    addMoments(strip.firstKink, all, 1.0);
    addRows(all, slope);
    e.loop(strip.firstKink, strip.endKink, 1, [&](Index z) {
      Value bend = strip.bend(z);
      RowSums above = sumWhere(strip.knot(z), bend);
      addMoments(z, above, -1.0);
      addMoments(z + Index(1), above, 1.0);
      addRows(above, bend);
    });
    if (op.getUGrad())
      emitDiagonalSums(context, place, op.getUGrad(), [&](Index key, int64_t v) {
        return e.loadVector(staging, stagingAt(key, v));
      });
  }

private:
  Index stagingAt(const Index &key, int64_t v) {
    return key * Index(context.cpu.stripRows()) + Index(v * e.lanes);
  }
  RowSums sumWhere(Value knot, Value slope);
  void addMoments(const Index &segment, const RowSums &sums, double sign);
  void addRows(const RowSums &sums, Value slope);

  StageContext &context;
  Emitter &e;
  const StripPlace &place;
  const Slots &slots;
  SegmentsGradOp op;
  SegmentStrip strip;
  const int64_t vectors;
  Value staging; // g * slope * v of every pair
};

/// Sums over the pairs with t > knot (all without one); adds g * slope * v to the staging block.
RowSums SegmentsGradEmitter::sumWhere(Value knot, Value slope) {
  SmallVector<Value> factors, zeros(2 * vectors, e.splat(0.0));
  for (int64_t v = 0; v < vectors; ++v)
    factors.push_back(e.mul(slope, strip.v(v)));
  SmallVector<Value> sums =
      e.loop(place.keyBegin, place.keyEnd, 1, zeros, [&](Index key, ValueRange args) {
        SmallVector<Value> next(args);
        for (int64_t v = 0; v < vectors; ++v) {
          Value g =
              e.loadVector(slots.getMemory(), slots.at(op.getValue(), key, Index(v * e.lanes)));
          Value u = strip.u(key, v);
          if (knot) {
            Value above =
                e.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, e.mul(u, strip.v(v)), knot);
            g = e.select(above, g, e.splat(0.0));
          }
          next[v] = e.add(args[v], g);
          next[vectors + v] = e.fma(g, u, args[vectors + v]);
          if (!staging)
            continue;
          Value weighted = knot ? e.fma(g, factors[v], e.loadVector(staging, stagingAt(key, v)))
                                : e.mul(g, factors[v]);
          e.storeVector(weighted, staging, stagingAt(key, v));
        }
        return next;
      });
  // Rows that do not exist have an undefined u, and 0 * u may be NaN.
  for (int64_t v = 0; place.masked && v < vectors; ++v) {
    Value exists = e.laneMask(place.rowCount - Index(v * e.lanes));
    sums[vectors + v] = e.select(exists, sums[vectors + v], e.splat(0.0));
  }
  return {SmallVector<Value>(ArrayRef(sums).take_front(vectors)),
          SmallVector<Value>(ArrayRef(sums).drop_front(vectors))};
}

/// moments[segment] += sign * (sum g, sum g * t), with sum g * t = sum over rows of v * sum g * u.
void SegmentsGradEmitter::addMoments(const Index &segment, const RowSums &sums, double sign) {
  Value zeroth = e.splat(0.0), first = e.splat(0.0);
  for (int64_t v = 0; v < vectors; ++v) {
    zeroth = e.add(zeroth, sums.g[v]);
    first = e.fma(sums.gu[v], strip.v(v), first);
  }
  Value memory = context.memory(op.getMoments());
  Index at = context.offset(op.getMoments(), place.place()) + segment * Index(2);
  addSum(e, e.mul(zeroth, e.splat(sign)), memory, at);
  addSum(e, e.mul(first, e.splat(sign)), memory, at + Index(1));
}

void SegmentsGradEmitter::addRows(const RowSums &sums, Value slope) {
  if (!op.getVGrad())
    return;
  Value memory = context.memory(op.getVGrad());
  Index base = context.offset(op.getVGrad(), place.place());
  for (int64_t v = 0; v < vectors; ++v) {
    Value exists = e.laneMask(place.rowCount - Index(v * e.lanes));
    Index at = base + Index(v * e.lanes);
    Value sum = e.fma(sums.gu[v], slope, e.loadLanes(memory, at, exists));
    e.storeLanes(sum, memory, at, exists);
  }
}

} // namespace

void mlir::tile::cpu::emitSegmentsGrad(StageContext &context, StripValues &values,
                                       const Slots &slots, SegmentsGradOp grad) {
  SegmentsGradEmitter(context, values, slots, grad).emit();
}
