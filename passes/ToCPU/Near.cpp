//===- Near.cpp - tables of near distances on a strip ----------------------===//
//
// Most strips of rows are entirely beyond the distances of the table. A row of such a strip has one
// value for all keys, and no pair is stored. If a strip and a block include near distances, the
// code decides for every key and vector of rows. If lanes are keys, the entries of a vector
// descend.
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/Biases.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

/// The table [..., count, rows] of a strip's head.
class NearStrip {
public:
  NearStrip(StageContext &context, const StripPlace &place, Value table, int64_t first)
      : context(context), e(context.e), place(place), isAlongKeys(context.cpu.isAlongKeys()),
        memory(context.memory(table)), count(entriesOfNear(table)),
        apart(place.row + context.rowStart - place.block - context.columnStart - Index(first)) {
    Place at = place.place();
    at.r = place.row;
    base = context.offset(table, at);
  }

  int64_t getCount() const { return count; }
  /// Return the entry of lane 0 of the vector at the key, the smallest and largest entry of that
  /// vector, and those of the strip.
  Index entry(const Index &key, int64_t vector) { return apart - key + Index(vector * e.lanes); }
  Index lowest(const Index &entry) { return isAlongKeys ? entry - Index(e.lanes - 1) : entry; }
  Index highest(const Index &entry) { return isAlongKeys ? entry : entry + Index(e.lanes - 1); }
  /// Returns the number of keys of a vector.
  int64_t step() const { return isAlongKeys ? e.lanes : 1; }
  Index least() { return apart - place.keyEnd + Index(1); }
  Index most() { return apart - place.keyBegin + Index(context.cpu.stripRows() - 1); }

  /// Returns one entry for the rows of a vector.
  Value rowsAt(const Index &entry, int64_t vector) {
    Index at = base + entry * context.rows + Index(vector * e.lanes);
    if (isAlongKeys)
      return e.broadcast(e.load(memory, at));
    return place.masked ? e.loadLanes(memory, at, exists(vector)) : e.loadVector(memory, at);
  }
  /// Returns the clamped entry of every pair of the vector.
  Value gather(const Index &entry, int64_t vector) {
    Value numbers = lanesOf(entry);
    numbers = e.create<arith::MaxSIOp>(
        e.create<arith::MinSIOp>(numbers, e.splatInt(static_cast<int32_t>(count - 1))),
        e.splatInt(0));
    return e.create<vector::GatherOp>(e.vectorType(), memory, ValueRange{placeOf(vector)},
                                      offsets(numbers), exists(vector), e.splat(0.0));
  }
  /// Stores the pairs of the vector that have an entry.
  void scatter(const Index &entry, int64_t vector, Value value) {
    Value numbers = lanesOf(entry);
    Value isEntry = e.create<arith::AndIOp>(
        e.compare(arith::CmpIPredicate::sge, numbers, e.splatInt(0)),
        e.compare(arith::CmpIPredicate::slt, numbers, e.splatInt(static_cast<int32_t>(count))));
    Value lanes = e.create<arith::AndIOp>(isEntry, exists(vector));
    Value safe = e.select(lanes, numbers, e.splatInt(0));
    e.create<vector::ScatterOp>(/*result=*/Type(), memory, ValueRange{placeOf(vector)},
                                offsets(safe), lanes, value);
  }

private:
  Value exists(int64_t vector) {
    return e.laneMask(isAlongKeys ? Index(e.lanes) : place.rowCount - Index(vector * e.lanes));
  }
  Value placeOf(int64_t vector) { return e.toValue(base + Index(vector * e.lanes)); }
  Value lanesOf(const Index &entry) {
    if (isAlongKeys)
      return e.create<arith::SubIOp>(e.splatIndex(entry), e.iota());
    return e.create<arith::AddIOp>(e.iota(), e.splatIndex(entry));
  }
  /// Returns entry * rows + row of the lane, in 64 bits.
  Value offsets(Value entries) {
    VectorType wide = e.vectorType(e.getI64Type());
    Value pitch =
        e.broadcast(e.create<arith::IndexCastOp>(e.getI64Type(), e.toValue(context.rows)));
    Value product = e.create<arith::MulIOp>(e.create<arith::ExtSIOp>(wide, entries), pitch);
    if (isAlongKeys)
      return product;
    return e.create<arith::AddIOp>(product, e.create<arith::ExtSIOp>(wide, e.iota()));
  }

  StageContext &context;
  Emitter &e;
  const StripPlace &place;
  const bool isAlongKeys;
  Value memory;
  int64_t count;
  Index apart, base;
};

} // namespace

void mlir::tile::cpu::emitNear(StageContext &context, StripValues &values, const Slots &slots,
                               NearOp op) {
  Emitter &e = context.e;
  const StripPlace &place = values.getPlace();
  NearStrip strip(context, place, op.getTable(), op.getFirst());
  auto store = [&](const Index &key, int64_t v, Value value) {
    e.storeVector(value, slots.getMemory(), slots.at(op.getValue(), key, Index(v * e.lanes)));
  };
  // Entries from `least` on all clamp to the last one; entries up to `most` all clamp to the first.
  auto isBeyond = [&](const Index &least) { return e.less(strip.getCount() - 2, least); };
  auto isBefore = [&](const Index &most) { return e.less(most, 1); };
  auto fill = [&](int64_t entry) {
    SmallVector<Value> rows;
    for (int64_t v = 0; v < context.cpu.queryVectors; ++v)
      rows.push_back(strip.rowsAt(entry, v));
    e.loop(place.keyBegin, place.keyEnd, strip.step(), [&](Index key) {
      for (auto [v, row] : llvm::enumerate(rows))
        store(key, v, row);
    });
  };
  auto mixed = [&] {
    e.loop(place.keyBegin, place.keyEnd, strip.step(), [&](Index key) {
      for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
        Index entry = strip.entry(key, v);
        e.ifThen(
            isBeyond(strip.lowest(entry)),
            [&] { store(key, v, strip.rowsAt(strip.getCount() - 1, v)); },
            [&] {
              e.ifThen(
                  isBefore(strip.highest(entry)), [&] { store(key, v, strip.rowsAt(0, v)); },
                  [&] { store(key, v, strip.gather(entry, v)); });
            });
      }
    });
  };
  e.ifThen(
      isBeyond(strip.least()), [&] { fill(strip.getCount() - 1); },
      [&] { e.ifThen(isBefore(strip.most()), [&] { fill(0); }, mixed); });
}

void mlir::tile::cpu::emitNearGrad(StageContext &context, StripValues &values, const Slots &slots,
                                   NearGradOp op) {
  Emitter &e = context.e;
  const StripPlace &place = values.getPlace();
  NearStrip strip(context, place, op.getTable(), op.getFirst());
  auto meets = [&](const Index &least, const Index &most) {
    return e.create<arith::AndIOp>(e.less(least, strip.getCount()), e.less(-1, most));
  };
  e.ifThen(meets(strip.least(), strip.most()), [&] {
    e.loop(place.keyBegin, place.keyEnd, strip.step(), [&](Index key) {
      for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
        Index entry = strip.entry(key, v);
        e.ifThen(meets(strip.lowest(entry), strip.highest(entry)), [&] {
          strip.scatter(
              entry, v,
              e.loadVector(slots.getMemory(), slots.at(op.getValue(), key, Index(v * e.lanes))));
        });
      }
    });
  });
}
