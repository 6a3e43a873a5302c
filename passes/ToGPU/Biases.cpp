//===- Biases.cpp - functions of the distance on fragments ----------------===//
#include "passes/ToGPU/Biases.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Windows -----------------------------------------------------------------===//

llvm::MapVector<Value, Window>
mlir::tile::gpu::makeWindows(FragmentKernel &k, llvm::function_ref<int64_t(Value)> slotsOf) {
  llvm::MapVector<Value, Window> windows;
  auto make = [&](Value table) {
    auto [found, isNew] = windows.try_emplace(table);
    if (isNew)
      found->second =
          k.shared.makeWindow(k.schedule.ownerBlock() + k.schedule.innerBlock - 1, slotsOf(table));
  };
  for (Operation &op : k.getStream().getBody().front()) {
    if (auto window = dyn_cast<WindowOp>(op))
      make(window.getTable());
    else if (auto segments = dyn_cast<SegmentsOp>(op))
      make(segments.getU());
    else if (auto gradient = dyn_cast<SegmentsGradOp>(op))
      make(gradient.getU());
  }
  return windows;
}

void mlir::tile::gpu::copyWindow(FragmentKernel &k, Value table, const Window &window,
                                 const Place &place, const Num &base) {
  KernelBuilder &b = k.b;
  const int64_t columns = k.rowsOwn ? k.schedule.innerBlock : k.schedule.ownerBlock();
  Num row = k.rowsOwn ? k.item.ownerBase : base, column = k.rowsOwn ? base : k.item.ownerBase;
  // Entry 0 of the window, in the table.
  Num first = row - column + k.columns - Num(columns);
  Num extent = k.fn.extents(table).back();
  Value start = k.fn.address(table, place);
  for (int64_t begin = 0; begin < window.entries; begin += k.schedule.threads()) {
    Num index = k.thread + Num(begin), entry = first + index;
    auto copy = [&] {
      Value exists = b.both(b.compare(arith::CmpIPredicate::sge, entry, 0), b.less(entry, extent));
      Num to = window.copy * Num(window.copyBytes) + index * Num(4) + Num(window.offset);
      b.copyAsync(k.shared.at(to), b.global(start, entry * Num(4)), exists, 4);
    };
    if (begin + k.schedule.threads() <= window.entries)
      copy();
    else
      b.ifThen(b.less(index, Num(window.entries)), copy);
  }
}

Registers mlir::tile::gpu::loadWindow(Step &step, Value table) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const Window &window = step.windowOf(table);
  // The lane's element 0 within the block; the others are at constant distances from it.
  Element origin;
  Num owner = k.warp * Num(k.layout.ownerTiles * 16) + k.g, inner = k.layout.innerAt(k.t, origin);
  Num apart = k.rowsOwn ? owner - inner : inner - owner;
  const int64_t columns = k.rowsOwn ? k.schedule.innerBlock : k.schedule.ownerBlock();
  Num first =
      apart * Num(4) + window.copy * Num(window.copyBytes) + Num((columns - 1) * 4 + window.offset);
  const int64_t ownerSign = k.rowsOwn ? 1 : -1;
  llvm::SmallDenseMap<int64_t, Value> known; // pairs of one diagonal share a register
  Registers values;
  for (int64_t i = 0, e = k.registersOf({"r", "c"}); i < e; ++i) {
    Element at = k.elementAt({"r", "c"}, i);
    const int64_t away = at.ownerTile * 16 + at.ownerHalf * 8 -
                         (k.isPermuted ? at.innerTile * 2 : at.innerTile * 8) - at.innerHalf;
    Value &value = known[away];
    if (!value)
      value = b.load(b.f32(), k.shared.at(first + Num(ownerSign * away * 4)));
    values.push_back(value);
  }
  return values;
}

void mlir::tile::gpu::emitWindow(Step &step, WindowOp op) {
  step.set(op.getValue(), loadWindow(step, op.getTable()));
}

//===- Segments ------------------------------------------------------------------===//

static Value floatAt(FragmentKernel &k, Value base, const Num &index) {
  return k.b.load(k.b.f32(), k.b.global(base, index * Num(4)));
}

Value SegmentBlock::knot(FragmentKernel &k, const Num &end) const { return floatAt(k, knots, end); }

Piece SegmentBlock::piece(FragmentKernel &k, const Num &number) const {
  Piece piece;
  for (int64_t m = 0; m <= degree; ++m)
    piece.coefficients.push_back(floatAt(k, coefficients, number * Num(degree + 1) + Num(m)));
  if (degree > 1)
    piece.minusCentre =
        k.b.mul(k.b.add(knot(k, number), knot(k, number + Num(1))), k.b.number(-0.5));
  return piece;
}

/// Loads v of the lane's rows; rows that do not exist use the last row's.
static Registers loadRows(Step &step, Value buffer) {
  FragmentKernel &k = step.k;
  Registers values;
  for (int64_t i = 0, e = k.registersOf({"r"}); i < e; ++i) {
    Place place = step.place();
    place.r = minOf(step.rowAt(k.elementAt({"r"}, i)), k.rows - Num(1));
    values.push_back(k.b.load(k.b.f32(), k.fn.address(buffer, place)));
  }
  return values;
}

/// Returns the number of the `kinks` knots after the first that are below `bound`. The lanes test
/// 32 at a time.
static Num knotsBelow(FragmentKernel &k, Value knots, const Num &kinks, Value bound) {
  KernelBuilder &b = k.b;
  Value counted = b.loop(0, kinks, 32, b.integer(0), [&](Num z, ValueRange args) -> Registers {
    Num mine = z + k.lane;
    Value knot = floatAt(k, knots, minOf(mine + Num(1), kinks));
    Value below = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, knot, bound);
    Value isBelow = b.both(b.less(mine, kinks), below);
    return {b.create<arith::AddIOp>(args[0], b.create<arith::ExtUIOp>(b.i32(), isBelow))};
  })[0];
  return b.fromValue(b.warpSum(counted));
}

/// Returns the kinks inside the range of the products of the warp's u and v.
static Interval<Num> findKinks(Step &step, const SegmentBlock &block, Value count) {
  FragmentKernel &k = step.k;
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
  Num kinks = b.fromValue(b.load(b.i32(), k.fn.address(count, step.place()))) - Num(1);
  return {knotsBelow(k, block.knots, kinks, low), knotsBelow(k, block.knots, kinks, high)};
}

SegmentBlock mlir::tile::gpu::findSegmentBlock(Step &step, Value u, Value v, Value knots,
                                               Value coefficients, Value count) {
  FragmentKernel &k = step.k;
  SegmentBlock block;
  block.degree = degreeOfSegments(coefficients);
  block.u = loadWindow(step, u);
  block.v = loadRows(step, v);
  block.knots = k.fn.address(knots, step.place());
  block.coefficients = k.fn.address(coefficients, step.place());
  // The adjoint reuses the kinks that the value has found in the same step.
  Interval<Num> kinks = step.kinksOf(u, knots, [&] { return findKinks(step, block, count); });
  block.firstPiece = kinks.begin, block.lastPiece = kinks.end;
  return block;
}

/// Returns a piece's values at the pairs of the block.
static Registers emitPiece(FragmentKernel &k, const SegmentBlock &block, const Piece &piece) {
  KernelBuilder &b = k.b;
  llvm::SmallDenseMap<Value, Value> rowSlopes; // of a linear piece
  Registers values;
  for (auto [index, u] : llvm::enumerate(block.u)) {
    Value v = block.vOf(k, index), value = piece.coefficients.back();
    if (block.degree == 1) {
      Value &rowSlope = rowSlopes[v];
      if (!rowSlope)
        rowSlope = b.mul(value, v);
      value = b.fma(u, rowSlope, piece.coefficients[0]);
    } else if (block.degree > 1) {
      Value x = b.fma(u, v, piece.minusCentre);
      for (Value coefficient : llvm::drop_begin(llvm::reverse(piece.coefficients)))
        value = b.fma(value, x, coefficient);
    }
    values.push_back(value);
  }
  return values;
}

/// Evaluates the first piece everywhere, then each further piece for values above its kink.
void mlir::tile::gpu::emitSegments(Step &step, SegmentsOp op) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  SegmentBlock block = findSegmentBlock(step, op.getU(), op.getV(), op.getKnots(),
                                        op.getCoefficients(), op.getCount());
  Registers values = emitPiece(k, block, block.piece(k, block.firstPiece));
  values = b.loop(block.firstPiece, block.lastPiece, 1, values, [&](Num z, ValueRange before) {
    Value knot = block.knot(k, z + Num(1));
    Registers next = emitPiece(k, block, block.piece(k, z + Num(1)));
    for (auto [index, value] : llvm::enumerate(next)) {
      Value t = b.mul(block.u[index], block.vOf(k, index));
      Value isAbove = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, t, knot);
      value = b.select(isAbove, value, before[index]);
    }
    return next;
  });
  step.set(op.getValue(), std::move(values));
}
