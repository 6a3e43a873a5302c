//===- Biases.cpp - functions of the distance on fragments ----------------===//
#include "passes/ToGPU/Biases.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Windows -----------------------------------------------------------------===//

void mlir::tile::gpu::declareWindows(FragmentKernel &k, int64_t copies) {
  auto declare = [&](Value table) {
    Window &window = k.windows[table];
    if (window.entries)
      return;
    window.entries = k.schedule.ownerBlock() + k.schedule.innerBlock - 1;
    window.stageBytes = llvm::alignTo(window.entries * 4, 128);
    window.offset = k.allocate(window.stageBytes * copies);
  };
  for (Operation &op : k.stream.getBody().front()) {
    if (auto window = dyn_cast<WindowOp>(op))
      declare(window.getTable());
    else if (auto segments = dyn_cast<SegmentsOp>(op))
      declare(segments.getU());
    else if (auto gradient = dyn_cast<SegmentsGradOp>(op))
      declare(gradient.getU());
  }
}

void mlir::tile::gpu::copyWindow(FragmentKernel &k, Value table, const Window &window) {
  KernelBuilder &b = k.b;
  const int64_t columns = k.rowsOwn ? k.schedule.innerBlock : k.schedule.ownerBlock();
  Num row = k.rowsOwn ? k.ownerBase : k.innerBase, column = k.rowsOwn ? k.innerBase : k.ownerBase;
  // Entry 0 of the window, in the table.
  Num first = row - column + k.columns - Num(columns);
  Num extent = k.fn.extents(table).back();
  Value base = k.fn.address(table, k.place());
  for (int64_t begin = 0; begin < window.entries; begin += k.schedule.threads()) {
    Num index = k.thread + Num(begin), entry = first + index;
    auto copy = [&] {
      Value exists = b.both(b.compare(arith::CmpIPredicate::sge, entry, 0), b.less(entry, extent));
      Num to = window.stage * Num(window.stageBytes) + index * Num(4) + Num(window.offset);
      b.copyAsync(b.shared(k.fn.shared(), to), b.global(base, entry * Num(4)), exists, 4);
    };
    if (begin + k.schedule.threads() <= window.entries)
      copy();
    else
      b.ifThen(b.less(index, Num(window.entries)), copy);
  }
}

Registers mlir::tile::gpu::loadWindow(FragmentKernel &k, Value table) {
  KernelBuilder &b = k.b;
  const Window &window = k.windows.find(table)->second;
  // The lane's element 0 within the block; the others are constants away from it.
  Element origin;
  Num owner = k.warp * Num(k.layout.ownerTiles * 16) + k.g, inner = k.layout.innerAt(k.t, origin);
  Num apart = k.rowsOwn ? owner - inner : inner - owner;
  const int64_t columns = k.rowsOwn ? k.schedule.innerBlock : k.schedule.ownerBlock();
  Num first = apart * Num(4) + window.stage * Num(window.stageBytes) +
              Num((columns - 1) * 4 + window.offset);
  const int64_t ownerSign = k.rowsOwn ? 1 : -1;
  llvm::SmallDenseMap<int64_t, Value> known; // pairs of one diagonal share a register
  Registers values;
  for (int64_t i = 0, e = k.registersOf({"r", "c"}); i < e; ++i) {
    Element at = k.elementAt({"r", "c"}, i);
    const int64_t away = at.ownerTile * 16 + at.ownerHalf * 8 -
                         (k.isPermuted ? at.innerTile * 2 : at.innerTile * 8) - at.innerHalf;
    Value &value = known[away];
    if (!value)
      value = b.load(b.f32(), b.shared(k.fn.shared(), first + Num(ownerSign * away * 4)));
    values.push_back(value);
  }
  return values;
}

void mlir::tile::gpu::emitWindow(FragmentKernel &k, WindowOp op) {
  k.set(op.getValue(), loadWindow(k, op.getTable()));
}

//===- Segments ------------------------------------------------------------------===//

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
  for (int64_t i = 0, e = k.registersOf({"r"}); i < e; ++i) {
    Place place = k.place();
    place.r = minOf(k.rowAt(k.elementAt({"r"}, i)), k.rows - Num(1));
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
  return b.fromValue(b.warpSum(counted));
}

/// The kinks inside the range of the products of the warp's u and v.
static std::pair<Num, Num> findKinks(FragmentKernel &k, const SegmentBlock &block, Value count) {
  KernelBuilder &b = k.b;
  auto range = [&](ArrayRef<Value> values) {
    Value low = values[0], high = values[0];
    for (Value value : values.drop_front())
      low = b.min(low, value), high = b.max(high, value);
    return std::pair(b.warpMin(low), b.warpMax(high));
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
  return {knotsBelow(k, block.knots, kinks, low), knotsBelow(k, block.knots, kinks, high)};
}

SegmentBlock mlir::tile::gpu::findSegmentBlock(FragmentKernel &k, Value u, Value v, Value knots,
                                               Value slope, Value count) {
  SegmentBlock block;
  block.u = loadWindow(k, u);
  block.v = loadRows(k, v);
  block.knots = k.fn.address(knots, k.place());
  block.slopes = k.fn.address(slope, k.place());
  // The adjoint asks for what the value has found in the same step.
  auto [found, isNew] = k.kinks.try_emplace({u, knots}, Num(0), Num(0));
  if (isNew)
    found->second = findKinks(k, block, count);
  std::tie(block.firstKink, block.endKink) = found->second;
  return block;
}

void mlir::tile::gpu::emitSegments(FragmentKernel &k, SegmentsOp op) {
  KernelBuilder &b = k.b;
  SegmentBlock block =
      findSegmentBlock(k, op.getU(), op.getV(), op.getKnots(), op.getSlope(), op.getCount());
  Value offset = floatAt(k, k.fn.address(op.getOffset(), k.place()), block.firstKink);
  Value slope = block.slope(k, block.firstKink);
  auto vOf = [&](int64_t index) {
    return block.v[k.indexOf({"r"}, k.elementAt({"r", "c"}, index))];
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
