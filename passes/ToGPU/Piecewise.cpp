//===- Piecewise.cpp - piecewise functions on fragments -------------------===//
#include "passes/ToGPU/Piecewise.h"

#include "passes/ToGPU/Biases.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Tables ----------------------------------------------------------------------===//

/// Returns the numbers of a buffer, without the index of the head.
static int64_t numbersOf(Value buffer) {
  int64_t size, count = 1;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    if (!extent.getValue().getAsInteger(10, size))
      count *= size;
  return count;
}

namespace {

/// A table of a function: its buffer, and its first number in the copy.
struct Part {
  Value buffer;
  int64_t first;
};

} // namespace

static std::array<Part, 3> partsOf(const SegmentTables &tables) {
  const int64_t knots = numbersOf(tables.knots);
  return {{{tables.knots, 0},
           {tables.coefficients, knots},
           {tables.count, knots + numbersOf(tables.coefficients)}}};
}

llvm::MapVector<Value, SegmentTables>
mlir::tile::gpu::makeSegmentTables(FragmentKernel &k, llvm::function_ref<int64_t(Value)> slotsOf) {
  constexpr int64_t kMostNumbers = 1024; // of a copy in shared memory
  llvm::MapVector<Value, SegmentTables> found;
  auto make = [&](auto op) {
    auto [entry, isNew] = found.try_emplace(op.getCoefficients());
    if (!isNew)
      return;
    SegmentTables &tables = entry->second;
    tables.u = op.getU(), tables.v = op.getV(), tables.knots = op.getKnots();
    tables.coefficients = op.getCoefficients(), tables.count = op.getCount();
    const int64_t slots = slotsOf(tables.u), numbers = partsOf(tables).back().first + 1;
    // The blocks in flight belong to at most as many heads as the ring has slots.
    tables.copies = k.rowsOwn ? 1 : slots;
    if (numbers <= kMostNumbers) {
      tables.copyBytes = numbers * 4;
      tables.offset = k.shared.allocate(tables.copyBytes * tables.copies);
    }
    tables.rows = k.rowsOwn ? k.schedule.ownerBlock() : k.schedule.innerBlock;
    tables.rowsOffset = k.shared.allocate(tables.rows * 4 * tables.copies);
  };
  for (Operation &op : k.getStream().getBody().front()) {
    if (auto segments = dyn_cast<SegmentsOp>(op))
      make(segments);
    else if (auto gradient = dyn_cast<SegmentsGradOp>(op))
      make(gradient);
  }
  return found;
}

/// Starts copying `count` numbers, divided among the threads. `from` returns the address of one.
static void copyNumbers(FragmentKernel &k, int64_t count, const Num &to,
                        llvm::function_ref<Value(const Num &)> from) {
  KernelBuilder &b = k.b;
  Value exists = b.create<arith::ConstantOp>(b.getBoolAttr(true));
  k.divideAmongThreads(count, [&](const Num &index) {
    b.copyAsync(k.shared.at(index * Num(4) + to), from(index), exists, 4);
  });
}

void mlir::tile::gpu::copySegmentTables(Step &step, const SegmentTables &tables) {
  if (!tables.copyBytes)
    return;
  FragmentKernel &k = step.k;
  const Place place = step.place();
  for (const Part &part : partsOf(tables)) {
    Value start = k.fn.address(part.buffer, place);
    copyNumbers(k, numbersOf(part.buffer),
                tables.copy * Num(tables.copyBytes) + Num(tables.offset + part.first * 4),
                [&](const Num &index) { return k.b.global(start, index * Num(4)); });
  }
}

void mlir::tile::gpu::copySegmentRows(Step &step, const SegmentTables &tables) {
  FragmentKernel &k = step.k;
  const Num base = k.rowsOwn ? k.item.ownerBase : step.at.base;
  copyNumbers(k, tables.rows, tables.rowsCopy * Num(tables.rows * 4) + Num(tables.rowsOffset),
              [&](const Num &index) {
                Place place = step.place();
                place.r = minOf(base + index, k.rows - Num(1)); // beyond the last row, the last row
                return k.fn.address(tables.v, place);
              });
}

//===- Pieces ----------------------------------------------------------------------===//

/// Returns number `index` of a table.
static Value read(FragmentKernel &k, const SegmentTables &tables, const Place &place, Type type,
                  Value buffer, const Num &index) {
  if (!tables.copyBytes)
    return k.b.load(type, k.b.global(k.fn.address(buffer, place), index * Num(4)));
  const auto parts = partsOf(tables);
  const auto *part = llvm::find_if(parts, [&](const Part &p) { return p.buffer == buffer; });
  Num first = tables.copy * Num(tables.copyBytes) + Num(tables.offset + part->first * 4);
  return k.b.load(type, k.shared.at(index * Num(4) + first));
}

Value SegmentBlock::knot(FragmentKernel &k, const Num &end) const {
  return read(k, tables, place, k.b.f32(), tables.knots, end);
}

Piece SegmentBlock::piece(FragmentKernel &k, const Num &number) const {
  Piece piece;
  for (int64_t m = 0; m <= degree; ++m)
    piece.coefficients.push_back(
        read(k, tables, place, k.b.f32(), tables.coefficients, number * Num(degree + 1) + Num(m)));
  if (degree > 1)
    piece.minusCentre =
        k.b.mul(k.b.add(knot(k, number), knot(k, number + Num(1))), k.b.number(-0.5));
  return piece;
}

Value SegmentBlock::isAbove(FragmentKernel &k, int64_t pair, Value knot) const {
  KernelBuilder &b = k.b;
  // A product alone is the same for all knots, and would take a register for each pair.
  Value above = b.fma(u[pair], vOf(k, pair), b.neg(knot));
  return b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, above, b.number(0.0));
}

/// Returns v of the lane's rows.
static Registers loadRows(Step &step, const SegmentTables &tables) {
  FragmentKernel &k = step.k;
  const Num first = tables.rowsCopy * Num(tables.rows * 4) + Num(tables.rowsOffset);
  Registers values;
  for (int64_t i = 0, e = k.registersOf({"r"}); i < e; ++i) {
    const Element at = k.elementAt({"r"}, i);
    Num row = k.rowsOwn ? k.layout.ownerAt(Num(0), k.warp, k.g, at) : k.layout.innerAt(k.t, at);
    values.push_back(k.b.load(k.b.f32(), k.shared.at(row * Num(4) + first)));
  }
  return values;
}

/// Returns, for both bounds, the number of the `kinks` knots after the first that are below it. The
/// lanes test 32 at a time.
static Interval<Num> knotsBelow(FragmentKernel &k, const SegmentBlock &block, const Num &kinks,
                                Value low, Value high) {
  KernelBuilder &b = k.b;
  auto count = [&](Num z, ValueRange before) -> Registers {
    Num mine = z + k.lane;
    Value knot = block.knot(k, minOf(mine + Num(1), kinks)), exists = b.less(mine, kinks);
    Registers counts;
    for (auto [bound, counted] : llvm::zip(Registers{low, high}, before)) {
      Value below = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, knot, bound);
      Value one = b.create<arith::ExtUIOp>(b.i32(), b.both(exists, below));
      counts.push_back(b.create<arith::AddIOp>(counted, one));
    }
    return counts;
  };
  const Registers none = {b.integer(0), b.integer(0)};
  // A table holds a knot before the kinks, and one after them.
  const Registers counted = numbersOf(block.tables.knots) <= 32 + 2
                                ? count(0, none)
                                : Registers(b.loop(0, kinks, 32, none, count));
  return {b.fromValue(b.warpSum(counted[0])), b.fromValue(b.warpSum(counted[1]))};
}

/// Returns the least and the greatest of `count` numbers in shared memory, which the lanes divide.
static std::pair<Value, Value> rangeOf(FragmentKernel &k, const Num &first, int64_t count) {
  KernelBuilder &b = k.b;
  Value low, high;
  for (int64_t begin = 0; begin < count; begin += 32) {
    Num index = k.lane + Num(begin);
    if (begin + 32 > count)
      index = minOf(index, Num(count - 1));
    Value value = b.load(b.f32(), k.shared.at(first + index * Num(4)));
    low = low ? b.min(low, value) : value, high = high ? b.max(high, value) : value;
  }
  return {b.warpMin(low), b.warpMax(high)};
}

/// Returns the kinks inside the range of the products of the warp's u and v.
static Interval<Num> findKinks(Step &step, const SegmentBlock &block) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const SegmentTables &tables = block.tables;
  const Window &window = step.windowOf(tables.u);
  const int64_t owners = k.layout.ownerTiles * 16, inners = k.schedule.innerBlock;
  // The window counts from the last column of the block, which is an owner if columns own.
  const Num warpOwner = k.warp * Num(owners);
  const Num entry = k.rowsOwn ? warpOwner : Num(k.schedule.ownerBlock() - owners) - warpOwner;
  const Num row = k.rowsOwn ? warpOwner : Num(0);
  auto [uLow, uHigh] =
      rangeOf(k, window.copy * Num(window.copyBytes) + Num(window.offset) + entry * Num(4),
              owners + inners - 1);
  auto [vLow, vHigh] =
      rangeOf(k, (tables.rowsCopy * Num(tables.rows) + row) * Num(4) + Num(tables.rowsOffset),
              k.rowsOwn ? owners : inners);
  Value low, high;
  for (Value x : {uLow, uHigh})
    for (Value y : {vLow, vHigh}) {
      Value product = b.mul(x, y);
      low = low ? b.min(low, product) : product;
      high = high ? b.max(high, product) : product;
    }
  Value count = read(k, tables, block.place, b.i32(), tables.count, 0);
  return knotsBelow(k, block, b.fromValue(count) - Num(1), low, high);
}

SegmentBlock mlir::tile::gpu::findSegmentBlock(Step &step, Value coefficients) {
  SegmentBlock block;
  block.tables = step.segmentsOf(coefficients);
  block.place = step.place();
  block.degree = degreeOfSegments(coefficients);
  block.u = loadWindow(step, block.tables.u);
  block.v = loadRows(step, block.tables);
  // The adjoint reuses the kinks that the value has found in the same step.
  Interval<Num> kinks = step.kinksOf(coefficients, [&] { return findKinks(step, block); });
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
  SegmentBlock block = findSegmentBlock(step, op.getCoefficients());
  Registers values = emitPiece(k, block, block.piece(k, block.firstPiece));
  values = b.loop(block.firstPiece, block.lastPiece, 1, values, [&](Num z, ValueRange before) {
    Value knot = block.knot(k, z + Num(1));
    Registers next = emitPiece(k, block, block.piece(k, z + Num(1)));
    for (auto [pair, value] : llvm::enumerate(next))
      value = b.select(block.isAbove(k, pair, knot), value, before[pair]);
    return next;
  });
  step.set(op.getValue(), std::move(values));
}
