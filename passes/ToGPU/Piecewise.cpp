//===- Piecewise.cpp - piecewise functions on fragments -------------------===//
#include "passes/ToGPU/Piecewise.h"

#include "passes/ToGPU/Biases.h"

#include "llvm/ADT/SetVector.h"

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
  Registers none = {b.integer(0), b.integer(0)};
  Registers counted = b.loop(0, kinks, 32, none, [&](Num z, ValueRange args) -> Registers {
    Num mine = z + k.lane;
    Value knot = block.knot(k, minOf(mine + Num(1), kinks)), exists = b.less(mine, kinks);
    Registers counts;
    for (auto [bound, count] : llvm::zip(Registers{low, high}, args)) {
      Value below = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, knot, bound);
      Value one = b.create<arith::ExtUIOp>(b.i32(), b.both(exists, below));
      counts.push_back(b.create<arith::AddIOp>(count, one));
    }
    return counts;
  });
  return {b.fromValue(b.warpSum(counted[0])), b.fromValue(b.warpSum(counted[1]))};
}

/// Returns the kinks inside the range of the products of the warp's u and v.
static Interval<Num> findKinks(Step &step, const SegmentBlock &block) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  auto range = [&](ArrayRef<Value> values) {
    llvm::SmallSetVector<Value, 32> others(values.begin() + 1, values.end());
    Value low = values[0], high = values[0];
    for (Value value : others)
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
  Value count = read(k, block.tables, block.place, b.i32(), block.tables.count, 0);
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
    for (auto [index, value] : llvm::enumerate(next)) {
      Value t = b.mul(block.u[index], block.vOf(k, index));
      Value isAbove = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, t, knot);
      value = b.select(isAbove, value, before[index]);
    }
    return next;
  });
  step.set(op.getValue(), std::move(values));
}
