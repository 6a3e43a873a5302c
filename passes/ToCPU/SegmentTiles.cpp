//===- SegmentTiles.cpp - piecewise polynomials, tile by tile -------------===//
#include "passes/ToCPU/Biases.h"
#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>
#include <tuple>

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

/// The polynomial of one piece, with its coefficients in every lane.
struct Piece {
  SmallVector<Value> coefficients; // by power
  Value minusCentre;               // null if the powers are of t
};

/// Returns the first and the last piece that `findSegmentPieces` stored for a row of the call.
std::pair<Index, Index> loadPieces(Emitter &e, Value memory, const Index &row) {
  auto number = [&](int64_t which) {
    Value piece = e.load(memory, row * Index(2) + Index(which));
    return e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), piece));
  };
  return {number(0), number(1)};
}

/// The strip's window of u, its row factors v, and the pieces inside its range of t.
class SegmentStrip {
public:
  /// `pieces` is null, or the result of `findSegmentPieces`.
  SegmentStrip(StageContext &context, const StripPlace &place, Value u, Value v, Value knots,
               Value coefficients, Value count, Value pieces = {});

  Value u(const Index &key, int64_t vector);
  Value v(int64_t vector) { return factors[vector]; }
  Piece piece(const Index &number);
  /// Returns the end of a piece, which is the beginning of the next one, in every lane.
  Value knot(const Index &end) { return e.broadcast(e.load(knots, knotBase + end)); }
  int64_t getDegree() const { return degree; }
  void eachKey(llvm::function_ref<void(Index)> body) {
    e.loop(place.keyBegin, place.keyEnd, isAlongKeys ? e.lanes : 1, body);
  }

  /// The first and the last piece in the range of t.
  Index firstPiece, lastPiece;

private:
  void findRange(Value &low, Value &high);
  void findPieces(Value low, Value high, Value total);

  Emitter &e;
  const StripPlace &place;
  const bool isAlongKeys;
  const int64_t degree;
  Value window, knots, coefficients;
  Index windowBase, distance, knotBase, coefficientBase;
  SmallVector<Value> factors;
};

} // namespace

SegmentStrip::SegmentStrip(StageContext &context, const StripPlace &place, Value u, Value v,
                           Value knotBuffer, Value coefficientBuffer, Value count, Value pieces)
    : e(context.e), place(place), isAlongKeys(context.cpu.isAlongKeys()),
      degree(degreeOfSegments(coefficientBuffer)), window(context.memory(u)),
      knots(context.memory(knotBuffer)), coefficients(context.memory(coefficientBuffer)),
      windowBase(context.offset(u, place.place())),
      distance(place.row - place.block + context.columns - Index(1)),
      knotBase(context.offset(knotBuffer, place.place())),
      coefficientBase(context.offset(coefficientBuffer, place.place())) {
  Value rowFactors = context.memory(v);
  Index rowBase = context.offset(v, place.place());
  for (int64_t i = 0; i < context.cpu.queryVectors; ++i) {
    Index at = rowBase + Index(i * e.lanes);
    factors.push_back(isAlongKeys    ? e.broadcast(e.load(rowFactors, at))
                      : place.masked ? e.loadLanes(rowFactors, at,
                                                   e.laneMask(place.rowCount - Index(i * e.lanes)))
                                     : e.loadVector(rowFactors, at));
  }
  if (pieces) {
    std::tie(firstPiece, lastPiece) = loadPieces(e, pieces, place.row);
    return;
  }
  Value low, high;
  findRange(low, high);
  Value total = e.load(context.memory(count), context.offset(count, place.place()));
  findPieces(low, high, total);
}

/// Returns u, or 0 for rows that do not exist, whose u is undefined, so that 0 * u may be NaN.
Value SegmentStrip::u(const Index &key, int64_t vector) {
  if (isAlongKeys)
    return loadDistances(e, window, windowBase, distance - key, place.masked);
  Index entry = place.masked ? maxOf(0, distance - key) : distance - key;
  Value loaded = e.loadVector(window, windowBase + entry + Index(vector * e.lanes));
  if (!place.masked)
    return loaded;
  return e.select(e.laneMask(place.rowCount - Index(vector * e.lanes)), loaded, e.splat(0.0));
}

Piece SegmentStrip::piece(const Index &number) {
  Piece piece;
  Index at = coefficientBase + number * Index(degree + 1);
  for (int64_t m = 0; m <= degree; ++m)
    piece.coefficients.push_back(e.broadcast(e.load(coefficients, at + Index(m))));
  if (degree > 1) {
    Value ends = e.add(knot(number), knot(number + Index(1)));
    piece.minusCentre = e.mul(ends, e.splat(-0.5));
  }
  return piece;
}

/// Computes bounds of t from the extremes of u over the window and of v over the rows. An entry
/// that is NaN may make them NaN, but does not always.
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
  auto lowest = [&](Value vector) {
    return e.create<vector::ReductionOp>(vector::CombiningKind::MINNUMF, vector).getResult();
  };
  SmallVector<Value> vs;
  if (isAlongKeys) {
    vs.push_back(e.create<vector::ExtractOp>(factors[0], 0)); // a strip is one row
  } else {
    Value vLow = factors[0], vHigh = factors[0];
    for (Value factor : factors) {
      vLow = e.smaller(factor, vLow);
      vHigh = e.larger(factor, vHigh);
    }
    vs = {lowest(vLow), e.maxLanes(vHigh)};
  }
  for (Value a : {lowest(extremes[0]), e.maxLanes(extremes[1])})
    for (Value b : vs) {
      Value product = e.mul(a, b);
      low = low ? e.min(low, product) : product;
      high = high ? e.max(high, product) : product;
    }
}

/// Sets the first and the last of `total` pieces from the numbers of kinks below the bounds of t.
/// NaN bounds include all kinks, because some entries may still be finite.
void SegmentStrip::findPieces(Value low, Value high, Value total) {
  Value lows = e.broadcast(low), highs = e.broadcast(high);
  Index kinks = e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), total)) - Index(1);
  auto narrow = VectorType::get({1}, e.getIntegerType(e.lanes));
  auto add = [&](Value count, arith::CmpFPredicate predicate, Value knot, Value bound,
                 Value exists) -> Value {
    Value below = e.create<arith::CmpFOp>(predicate, knot, bound);
    Value counted = e.create<arith::AndIOp>(exists, below);
    Value bits = e.create<vector::ExtractOp>(e.create<vector::BitCastOp>(narrow, counted), 0);
    Value ones = e.create<math::CtPopOp>(e.create<arith::ExtUIOp>(e.getI32Type(), bits));
    return e.create<arith::AddIOp>(count, ones);
  };
  Value zero = e.constant(e.getI32IntegerAttr(0));
  SmallVector<Value> counts =
      e.loop(0, kinks, e.lanes, {zero, zero}, [&](Index z, ValueRange args) {
        Value exists = e.laneMask(kinks - z);
        Value knot = e.loadLanes(knots, knotBase + z + Index(1), exists);
        return SmallVector<Value>{add(args[0], arith::CmpFPredicate::OLT, knot, lows, exists),
                                  add(args[1], arith::CmpFPredicate::ULT, knot, highs, exists)};
      });
  auto number = [&](Value count) {
    return e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), count));
  };
  firstPiece = number(counts[0]);
  lastPiece = number(counts[1]);
}

/// Returns the piece's value at (u, vector). For a linear piece, `slopes` are its slope times v.
static Value emitPiece(Emitter &e, SegmentStrip &strip, const Piece &piece, Value u, int64_t vector,
                       ArrayRef<Value> slopes) {
  if (strip.getDegree() == 0)
    return piece.coefficients[0];
  if (strip.getDegree() == 1)
    return e.fma(u, slopes[vector], piece.coefficients[0]);
  Value x = e.fma(u, strip.v(vector), piece.minusCentre), value = piece.coefficients.back();
  for (Value coefficient : llvm::drop_begin(llvm::reverse(piece.coefficients)))
    value = e.fma(value, x, coefficient);
  return value;
}

/// Evaluates the first piece everywhere, then each further piece for values above its kink. No
/// piece is evaluated far from its range and then corrected, which would lose accuracy.
void mlir::tile::cpu::emitSegments(StageContext &context, StripValues &values, const Slots &slots,
                                   SegmentsOp op) {
  Emitter &e = context.e;
  const StripPlace &place = values.getPlace();
  const int64_t vectors = context.cpu.queryVectors;
  SegmentStrip strip(context, place, op.getU(), op.getV(), op.getKnots(), op.getCoefficients(),
                     op.getCount(), context.segmentPieces.lookup(op));
  auto fill = [&](const Index &number, Value knot) {
    Piece piece = strip.piece(number);
    SmallVector<Value> slopes;
    for (int64_t v = 0; v < vectors && strip.getDegree() == 1; ++v)
      slopes.push_back(e.mul(piece.coefficients[1], strip.v(v)));
    strip.eachKey([&](Index key) {
      for (int64_t v = 0; v < vectors; ++v) {
        Index at = slots.at(op.getValue(), key, Index(v * e.lanes));
        Value u = strip.u(key, v), value = emitPiece(e, strip, piece, u, v, slopes);
        if (knot) {
          Value isAbove =
              e.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, e.mul(u, strip.v(v)), knot);
          value = e.select(isAbove, value, e.loadVector(slots.getMemory(), at));
        }
        e.storeVector(value, slots.getMemory(), at);
      }
    });
  };
  fill(strip.firstPiece, nullptr);
  e.loop(strip.firstPiece, strip.lastPiece, 1,
         [&](Index z) { fill(z + Index(1), strip.knot(z + Index(1))); });
}

void mlir::tile::cpu::findSegmentPieces(StageContext &context, const Index &block) {
  Emitter &e = context.e;
  for (auto op : context.stream.getBody().getOps<SegmentsOp>()) {
    auto isPerHead = [](Value buffer) {
      return cast<BufferType>(buffer.getType()).getExtents().size() > 1;
    };
    if (isPerHead(op.getU()) || isPerHead(op.getV()) || isPerHead(op.getKnots()))
      continue;
    Value &memory = context.segmentPieces[op];
    if (!memory)
      memory = e.scratch(2 * kFewRows, e.getI32Type());
    e.loop(0, context.rows, 1, [&](Index row) {
      StripPlace place;
      place.row = row;
      place.block = block;
      place.rowCount = 1;
      place.masked = true;
      place.keyBegin = 0;
      place.keyEnd = minOf(Index(context.cpu.keyBlock), context.columns - block);
      SegmentStrip strip(context, place, op.getU(), op.getV(), op.getKnots(), op.getCoefficients(),
                         op.getCount());
      auto store = [&](const Index &piece, int64_t which) {
        Value number = e.create<arith::IndexCastOp>(e.getI32Type(), e.toValue(piece));
        e.store(number, memory, row * Index(2) + Index(which));
      };
      store(strip.firstPiece, 0);
      store(strip.lastPiece, 1);
    });
  }
}

namespace {

/// Adds the sum of the lanes to memory[at], in the buffer's type.
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
        strip(context, place, op.getU(), op.getV(), op.getKnots(), op.getCoefficients(),
              op.getCount()),
        degree(op.getDegree()), vectors(context.cpu.queryVectors) {
    if (op.getUGrad())
      staging = e.scratch(context.cpu.keyBlock * context.cpu.stripRows());
  }

  void emit() {
    e.loop(strip.firstPiece, strip.lastPiece + Index(1), 1, [&](Index z) { addPiece(z); });
    if (op.getUGrad())
      emitDiagonalSums(context, place, op.getUGrad(), [&](Index key, int64_t v) {
        return e.loadVector(staging, stagingAt(key, v));
      });
  }

private:
  /// Returns the number of sums of one vector of rows over the keys: g x^m, and g p' u if the
  /// degree is above 1. A linear piece has x = u * v with the same v for all keys, so its sums are
  /// of g and g u.
  int64_t sumsPerVector() const { return degree > 1 ? degree + 2 : degree + 1; }
  Index stagingAt(const Index &key, int64_t v) {
    return key * Index(context.cpu.stripRows()) + Index(v * e.lanes);
  }
  void addPiece(const Index &number);
  void addPair(const Piece &piece, const Index &key, int64_t v, Value g, Value isLater,
               MutableArrayRef<Value> sums);
  void stage(const Index &key, int64_t v, Value weight, Value isLater);
  void addMoments(const Index &number, ArrayRef<Value> sums);
  void addRows(const Piece &piece, ArrayRef<Value> sums);

  StageContext &context;
  Emitter &e;
  const StripPlace &place;
  const Slots &slots;
  SegmentsGradOp op;
  SegmentStrip strip;
  const int64_t degree, vectors;
  Value staging; // g * p' * v of every pair; null if there is no gradient of u
};

/// Stores the pair's contribution: every pair is in one piece, so the first piece stores to the
/// staging block and later ones add to it.
void SegmentsGradEmitter::stage(const Index &key, int64_t v, Value weight, Value isLater) {
  if (!staging)
    return;
  Index at = stagingAt(key, v);
  // Lanes that are not loaded are 0. A select of one condition for all lanes would become a
  // branch.
  Value before = e.loadLanes(staging, at, isLater);
  e.storeVector(e.fma(weight, strip.v(v), before), staging, at);
}

void SegmentsGradEmitter::addPair(const Piece &piece, const Index &key, int64_t v, Value g,
                                  Value isLater, MutableArrayRef<Value> sums) {
  sums[0] = e.add(sums[0], g);
  if (degree == 0)
    return;
  Value u = strip.u(key, v);
  if (degree == 1) {
    sums[1] = e.fma(g, u, sums[1]);
    return stage(key, v, staging ? e.mul(g, piece.coefficients[1]) : Value(), isLater);
  }
  Value x = e.fma(u, strip.v(v), piece.minusCentre), power = g;
  for (int64_t m = 1; m <= degree; ++m) {
    power = e.mul(power, x);
    sums[m] = e.add(sums[m], power);
  }
  Value slope = e.mul(piece.coefficients[degree], e.splat(degree));
  for (int64_t m = degree - 1; m > 0; --m)
    slope =
        e.fma(slope, x, m == 1 ? piece.coefficients[1] : e.mul(piece.coefficients[m], e.splat(m)));
  Value weight = e.mul(g, slope);
  sums[degree + 1] = e.fma(weight, u, sums[degree + 1]);
  stage(key, v, weight, isLater);
}

/// Adds the sums over the pairs of one piece.
void SegmentsGradEmitter::addPiece(const Index &number) {
  Piece piece = strip.piece(number);
  auto is = [&](const Index &other) {
    return e.create<arith::CmpIOp>(arith::CmpIPredicate::eq, e.toValue(number), e.toValue(other));
  };
  Value isFirst = is(strip.firstPiece), isLast = is(strip.lastPiece);
  Value isLater = e.broadcast(e.create<arith::CmpIOp>(arith::CmpIPredicate::ne, e.toValue(number),
                                                      e.toValue(strip.firstPiece)));
  const double infinity = std::numeric_limits<double>::infinity();
  Value low = e.select(isFirst, e.splat(-infinity), strip.knot(number));
  Value high = e.select(isLast, e.splat(infinity), strip.knot(number + Index(1)));
  SmallVector<Value> zeros(vectors * sumsPerVector(), e.splat(0.0));
  SmallVector<Value> sums =
      e.loop(place.keyBegin, place.keyEnd, 1, zeros, [&](Index key, ValueRange args) {
        SmallVector<Value> next(args);
        for (int64_t v = 0; v < vectors; ++v) {
          Value g =
              e.loadVector(slots.getMemory(), slots.at(op.getValue(), key, Index(v * e.lanes)));
          // NaN counts as inside, so that it propagates.
          Value t = e.mul(strip.u(key, v), strip.v(v));
          Value isAbove = e.create<arith::CmpFOp>(arith::CmpFPredicate::UGT, t, low);
          Value isBelow = e.create<arith::CmpFOp>(arith::CmpFPredicate::ULE, t, high);
          g = e.select(e.create<arith::AndIOp>(isAbove, isBelow), g, e.splat(0.0));
          addPair(piece, key, v, g, isLater,
                  MutableArrayRef(next).slice(v * sumsPerVector(), sumsPerVector()));
        }
        return next;
      });
  addMoments(number, sums);
  addRows(piece, sums);
}

void SegmentsGradEmitter::addMoments(const Index &number, ArrayRef<Value> sums) {
  Value memory = context.memory(op.getMoments());
  Index at = context.offset(op.getMoments(), place.place()) + number * Index(degree + 1);
  for (int64_t m = 0; m <= degree; ++m) {
    Value total = e.splat(0.0);
    for (int64_t v = 0; v < vectors; ++v) {
      Value sum = sums[v * sumsPerVector() + m];
      total = degree == 1 && m == 1 ? e.fma(sum, strip.v(v), total) : e.add(total, sum);
    }
    addSum(e, total, memory, at + Index(m));
  }
}

void SegmentsGradEmitter::addRows(const Piece &piece, ArrayRef<Value> sums) {
  if (!op.getVGrad())
    return;
  Value memory = context.memory(op.getVGrad());
  Index base = context.offset(op.getVGrad(), place.place());
  for (int64_t v = 0; v < vectors; ++v) {
    Value exists = e.laneMask(place.rowCount - Index(v * e.lanes));
    Index at = base + Index(v * e.lanes);
    Value before = e.loadLanes(memory, at, exists), sum = sums[(v + 1) * sumsPerVector() - 1];
    Value after = degree == 1 ? e.fma(sum, piece.coefficients[1], before) : e.add(before, sum);
    e.storeLanes(after, memory, at, exists);
  }
}

} // namespace

void mlir::tile::cpu::emitSegmentsGrad(StageContext &context, StripValues &values,
                                       const Slots &slots, SegmentsGradOp grad) {
  SegmentsGradEmitter(context, values, slots, grad).emit();
}
