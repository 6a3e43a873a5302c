//===- Biases.cpp - functions of the distance on fragments ----------------===//
#include "passes/ToGPU/Biases.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Windows -----------------------------------------------------------------===//

Registers mlir::tile::gpu::loadWindow(FragmentKernel &k, Value table) {
  KernelBuilder &b = k.b;
  const int64_t count = k.registersOf(Spaces::RC);
  Value base = k.fn.address(table, k.place());
  Num last = k.fn.extents(table).back() - Num(1);
  // Entry of element 0 of the lane; the others are constants away from it.
  Element origin;
  Num first = k.rowAt(origin) - k.columnAt(origin) + k.columns - Num(1);
  const int64_t ownerSign = k.rowsOwn ? 1 : -1;
  SmallVector<int64_t> distance;
  for (int64_t i = 0; i < count; ++i) {
    Element at = k.elementAt(Spaces::RC, i);
    const int64_t owner = at.ownerTile * 16 + at.ownerHalf * 8;
    const int64_t inner =
        k.isPermuted ? at.innerTile * 2 + at.innerHalf : at.innerTile * 8 + at.innerHalf;
    distance.push_back(ownerSign * (owner - inner));
  }
  auto readAll = [&](bool isClamped) {
    llvm::SmallDenseMap<int64_t, Value> known;
    Registers values;
    for (int64_t d : distance) {
      Value &value = known[d];
      if (!value) {
        Num entry = first + Num(d);
        if (isClamped)
          entry = maxOf(Num(0), minOf(entry, last));
        value = b.load(b.f32(), b.global(base, entry * Num(4)));
      }
      values.push_back(value);
    }
    return values;
  };
  SmallVector<Type> types(count, b.f32());
  return b.ifElse(k.isFull, types, [&] { return readAll(false); }, [&] { return readAll(true); });
}

void mlir::tile::gpu::emitWindow(FragmentKernel &k, WindowOp op) {
  k.set(op.getValue(), loadWindow(k, op.getTable()));
}

//===- Segments ------------------------------------------------------------------===//

Value mlir::tile::gpu::acrossWarp(FragmentKernel &k, Value value,
                                  llvm::function_ref<Value(Value, Value)> combine) {
  for (int mask : {16, 8, 4, 2, 1})
    value = combine(value, k.b.shuffleXor(value, mask));
  return value;
}

static Value floatAt(FragmentKernel &k, Value base, const Num &index) {
  return k.b.load(k.b.f32(), k.b.global(base, index * Num(4)));
}

Value SegmentBlock::knot(FragmentKernel &k, const Num &z) const { return floatAt(k, knots, z); }
Value SegmentBlock::slope(FragmentKernel &k, const Num &s) const { return floatAt(k, slopes, s); }
Value SegmentBlock::bend(FragmentKernel &k, const Num &z) const {
  return k.b.sub(slope(k, z + Num(1)), slope(k, z));
}

/// v of the lane's rows; rows that do not exist take the last one's.
static Registers loadRows(FragmentKernel &k, Value buffer) {
  Registers values;
  for (int64_t i = 0, e = k.registersOf(Spaces::R); i < e; ++i) {
    Place place = k.place();
    place.r = minOf(k.rowAt(k.elementAt(Spaces::R, i)), k.rows - Num(1));
    values.push_back(k.b.load(k.b.f32(), k.fn.address(buffer, place)));
  }
  return values;
}

/// How many of the `kinks` knots are below `bound`: the lanes look at 32 at a time.
static Num knotsBelow(FragmentKernel &k, Value knots, const Num &kinks, Value bound) {
  KernelBuilder &b = k.b;
  Value counted = b.loop(0, kinks, 32, b.integer(0), [&](Num z, ValueRange args) -> Registers {
    Num mine = z + k.lane;
    Value knot = floatAt(k, knots, minOf(mine, kinks - Num(1)));
    Value below = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, knot, bound);
    Value isBelow = b.both(b.less(mine, kinks), below);
    return {b.create<arith::AddIOp>(args[0], b.create<arith::ExtUIOp>(b.i32(), isBelow))};
  })[0];
  return b.fromValue(
      acrossWarp(k, counted, [&](Value x, Value y) { return b.create<arith::AddIOp>(x, y); }));
}

SegmentBlock mlir::tile::gpu::findSegmentBlock(FragmentKernel &k, Value u, Value v, Value knots,
                                               Value slope, Value count) {
  KernelBuilder &b = k.b;
  SegmentBlock block;
  block.u = loadWindow(k, u);
  block.v = loadRows(k, v);
  block.knots = k.fn.address(knots, k.place());
  block.slopes = k.fn.address(slope, k.place());
  auto smaller = [&](Value x, Value y) { return b.min(x, y); };
  auto larger = [&](Value x, Value y) { return b.max(x, y); };
  auto range = [&](Registers &values) {
    Value low = values[0], high = values[0];
    for (Value value : ArrayRef(values).drop_front())
      low = b.min(low, value), high = b.max(high, value);
    return std::pair(acrossWarp(k, low, smaller), acrossWarp(k, high, larger));
  };
  auto [uLow, uHigh] = range(block.u);
  auto [vLow, vHigh] = range(block.v);
  Value low, high;
  for (Value x : {uLow, uHigh})
    for (Value y : {vLow, vHigh}) {
      Value product = b.mul(x, y);
      low = low ? b.min(low, product) : product;
      high = high ? b.max(high, product) : product;
    }
  Num kinks = b.fromValue(b.load(b.i32(), k.fn.address(count, k.place()))) - Num(1);
  block.firstKink = knotsBelow(k, block.knots, kinks, low);
  block.endKink = knotsBelow(k, block.knots, kinks, high);
  return block;
}

void mlir::tile::gpu::emitSegments(FragmentKernel &k, SegmentsOp op) {
  KernelBuilder &b = k.b;
  SegmentBlock block =
      findSegmentBlock(k, op.getU(), op.getV(), op.getKnots(), op.getSlope(), op.getCount());
  Value offset = floatAt(k, k.fn.address(op.getOffset(), k.place()), block.firstKink);
  Value slope = block.slope(k, block.firstKink);
  auto vOf = [&](int64_t index) {
    return block.v[k.indexOf(Spaces::R, k.elementAt(Spaces::RC, index))];
  };
  llvm::SmallDenseMap<Value, Value> rowSlopes;
  Registers values;
  for (auto [index, u] : llvm::enumerate(block.u)) {
    Value &rowSlope = rowSlopes[vOf(index)];
    if (!rowSlope)
      rowSlope = b.mul(slope, vOf(index));
    values.push_back(b.fma(u, rowSlope, offset));
  }
  values = b.loop(block.firstKink, block.endKink, 1, values, [&](Num z, ValueRange sums) {
    Value bend = block.bend(k, z), knot = block.knot(k, z);
    Value minusKnot = b.create<arith::NegFOp>(knot);
    Registers next;
    for (auto [index, sum] : llvm::enumerate(sums)) {
      Value above = b.fma(block.u[index], vOf(index), minusKnot);
      next.push_back(b.fma(b.max(above, b.number(0.0)), bend, sum));
    }
    return next;
  });
  k.set(op.getValue(), std::move(values));
}
