//===- Windows.cpp - contractions with vectors of the distance ------------===//
//
// The vectors of the distances that a block meets are a panel in shared memory, by distance, copied
// with the block's other panels (dialect/Math/DistanceLayout.h defines the row of a pair).
//
//   window_dot   products of rows with all vectors that 16 rows (or 16 rows and 16 columns) meet,
//                from which shuffles within the warp select the pairs; in f32, every pair with its
//                own vector
//   window_sum   pairs from shared memory by row and distance, times the vectors
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Windows.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

using ::pe::math::ReflectedAxis;
using ::pe::math::Reflection;

//===- Tables -------------------------------------------------------------------------===//

llvm::MapVector<Value, Panel>
mlir::tile::gpu::makeVectorPanels(FragmentKernel &k, llvm::function_ref<int64_t(Value)> slotsOf) {
  llvm::MapVector<Value, Panel> panels;
  for (Operation &op : k.getStream().getBody().front()) {
    if (!isa<WindowDotOp, WindowSumOp>(op))
      continue;
    Value table =
        isa<WindowDotOp>(op) ? cast<WindowDotOp>(op).getTable() : cast<WindowSumOp>(op).getTable();
    auto [found, isNew] = panels.try_emplace(table);
    if (isNew) {
      auto type = cast<BufferType>(table.getType());
      const int64_t depth =
          sizeOfDepth(type.getExtents().back().getValue(), k.fn.headDim, k.fn.valueDim);
      found->second = k.shared.makePanel(distanceBlockOf(k).numbers(), depth, type.getElementType(),
                                         slotsOf(table));
    }
  }
  return panels;
}

Num mlir::tile::gpu::firstEntryOf(const FragmentKernel &k, const Num &innerBase) {
  const Num row = k.rowsOwn ? k.item.ownerBase : innerBase,
            column = k.rowsOwn ? innerBase : k.item.ownerBase;
  return row - column + k.columns - Num(distanceBlockOf(k).columns);
}

void mlir::tile::gpu::copyVectors(FragmentKernel &k, Value table, const Panel &panel,
                                  const Place &place, const Num &base) {
  KernelBuilder &b = k.b;
  auto extents = k.fn.extents(table);
  const Num entries = extents[extents.size() - 2], first = firstEntryOf(k, base);
  const int64_t pitch = panel.depth * panel.elementBytes, chunks = panel.chunks();
  const int64_t present = panel.depth / panel.perChunk();
  Value start = b.moved(k.fn.address(table, place),
                        b.createOrFold<arith::MulIOp>(b.wide(first), b.wide(Num(pitch))));
  k.divideAmongThreads(panel.rows * chunks, [&](const Num &index) {
    const Num row = index / Num(chunks), chunk = index % Num(chunks), entry = first + row;
    Value exists = b.both(b.less(Num(-1), entry), b.less(entry, entries));
    if (present < chunks)
      exists = b.both(exists, b.less(chunk, Num(present)));
    b.copyAsync(k.shared.chunkAddress(panel, 0, row, 0, chunk),
                b.global(start, row * Num(pitch) + chunk * Num(16)), exists);
  });
}

//===- Rows to pairs ------------------------------------------------------------------===//

namespace {

class WindowDotEmitter : FragmentReader {
public:
  WindowDotEmitter(Step &step, WindowDotOp op)
      : FragmentReader(step.k, elementOf(op.getRows())), here(step), op(op),
        rows(step.panelOf(op.getRows())), vectors(step.panelOf(op.getTable())),
        pairs(k.registersOf({"r", "c"}), b.number(0.0)) {}

  void emit() {
    here.set(op.getValue(), emitWithin(here, op, pairs, [&] {
               if (!isMatrixType())
                 exact();
               else if (k.rowsOwn)
                 byRows();
               else
                 byColumns();
               return pairs;
             }));
  }

private:
  void exact();
  void byRows();
  void byColumns();
  /// Returns the lane's element of tile `to`, half `half`, of products in tiles along the reflected
  /// axis, for rows in tile `row` and `columns` columns.
  Value reflected(const Reflection &reflection, int64_t row, int64_t to, int64_t half,
                  int64_t columns, llvm::function_ref<Value(int64_t tile, int64_t half)> product);
  void permute(int64_t ownerTile);

  Step &here;
  WindowDotOp op;
  const Panel &rows, &vectors;
  Registers pairs;
};

/// Computes every pair with its row of the table; pairs of one diagonal share it.
void WindowDotEmitter::exact() {
  const int64_t columns = distanceBlockOf(k).columns, sign = k.rowsOwn ? 1 : -1;
  const Num owner = k.warp * Num(k.layout.ownerTiles * 16) + k.g;
  const Num inner = k.layout.innerAt(k.t, Element());
  const Num first = (k.rowsOwn ? owner - inner : inner - owner) + Num(columns - 1);
  auto awayOf = [&](const Element &at) {
    Element origin = at;
    origin.ownerTile = origin.ownerHalf = 0;
    const int64_t inners = k.layout.innerAt(int64_t(0), at);
    return sign * (at.ownerTile * 16 + at.ownerHalf * 8 - inners);
  };
  pairs = b.loop(0, rows.depth / 4, 1, pairs, [&](Num chunk, ValueRange carried) {
    llvm::SmallDenseMap<int64_t, SmallVector<Value>> ofRows, ofDistances;
    Registers next(carried);
    for (auto [index, sum] : llvm::enumerate(next)) {
      Element at = k.elementAt({"r", "c"}, index);
      SmallVector<Value> &left = ofRows[k.indexOf({"r"}, at)];
      if (left.empty() && k.rowsOwn)
        left = vectorAt(rows, at.ownerTile * 16 + at.ownerHalf * 8, owner, chunk);
      else if (left.empty())
        left = vectorAt(rows, at.innerTile * 8, k.t * Num(2) + Num(at.innerHalf), chunk);
      const int64_t away = awayOf(at), within = ((away % 8) + 8) % 8;
      SmallVector<Value> &right = ofDistances[away];
      if (right.empty())
        right = vectorAt(vectors, away - within, first + Num(within), chunk);
      for (int n = 0; n < 4; ++n)
        sum = b.fma(left[n], right[n], sum);
    }
    return next;
  });
}

Value WindowDotEmitter::reflected(const Reflection &reflection, int64_t row, int64_t to,
                                  int64_t half, int64_t columns,
                                  llvm::function_ref<Value(int64_t tile, int64_t half)> product) {
  Value isNext = b.less(reflection.offeredPlace(k.lane, half), reflection.offeredRow(k.lane, half));
  auto offered = [&](bool next) {
    const int64_t tile = Reflection::tileOf(row, to, columns, next);
    const Num which = reflection.offeredHalf(k.lane, half);
    if (which.isConstant())
      return product(tile, which.getConstant());
    Value isSecond = b.compare(arith::CmpIPredicate::eq, which, 1);
    return b.select(isSecond, product(tile, 1), product(tile, 0));
  };
  return b.shuffleFrom(b.select(isNext, offered(true), offered(false)),
                       reflection.sourceLane(k.lane, half));
}

/// Multiplies a tile of rows with the vectors of the distances that the entire inner block meets.
void WindowDotEmitter::byRows() {
  const int64_t columns = k.schedule.innerBlock, tiles = (columns + 16) / 8;
  const Num warpRow = k.warp * Num(k.layout.ownerTiles * 16);
  for (int64_t ownerTile = 0; ownerTile < k.layout.ownerTiles; ++ownerTile) {
    Registers products(tiles * 4, b.number(0.0));
    for (int64_t step = 0, e = llvm::divideCeil(rows.depth, stepSize()); step < e; ++step) {
      SmallVector<Value> a = loadA(rows, ownerTile * 16, warpRow, step);
      for (int64_t pair = 0; pair < tiles / 2; ++pair) {
        SmallVector<Value> right = loadB(vectors, (ownerTile + pair) * 16, warpRow, step);
        for (int64_t half = 0; half < 2; ++half)
          addProduct(products, (pair * 2 + half) * 4, a, ArrayRef<Value>(right).slice(half * 2, 2));
      }
    }
    for (int ownerHalf = 0; ownerHalf < 2; ++ownerHalf)
      for (int64_t i = 0; i < columns / 4; ++i) {
        Element at;
        at.ownerTile = ownerTile, at.ownerHalf = ownerHalf;
        at.innerTile = i / 2, at.innerHalf = i % 2;
        pairs[k.indexOf({"r", "c"}, at)] = reflected(
            {ReflectedAxis::Halves}, ownerHalf, at.innerTile, at.innerHalf, columns,
            [&](int64_t tile, int64_t half) { return products[tile * 4 + ownerHalf * 2 + half]; });
      }
    if (k.isPermuted)
      permute(ownerTile);
  }
}

/// Moves pairs to the places of a permuted block; the lanes of a quad hold them in turn.
void WindowDotEmitter::permute(int64_t ownerTile) {
  const Registers standing = pairs;
  for (int64_t i = 0, e = pairs.size(); i < e; ++i) {
    Element at = k.elementAt({"r", "c"}, i);
    if (at.ownerTile != ownerTile)
      continue;
    Value found;
    for (int64_t t = 0; t < 4; ++t) {
      const int64_t inner = k.layout.innerAt(t, at);
      Element from = at;
      from.innerTile = inner / 8, from.innerHalf = inner % 2;
      Value value =
          b.shuffleFrom(standing[k.indexOf({"r", "c"}, from)], k.g * Num(4) + Num(inner % 8 / 2));
      Value isMine = b.compare(arith::CmpIPredicate::eq, k.t, t);
      found = found ? b.select(isMine, value, found) : value;
    }
    pairs[i] = found;
  }
}

/// Multiplies the vectors of the 32 distances that 16 rows and 16 columns meet with these rows. The
/// distances of the next 16 rows begin 16 later.
void WindowDotEmitter::byColumns() {
  const int64_t steps = llvm::divideCeil(rows.depth, stepSize());
  const Num warpColumn = k.warp * Num(k.layout.ownerTiles * 16);
  for (int64_t ownerTile = 0; ownerTile < k.layout.ownerTiles; ++ownerTile) {
    // The distance of row 0 and the tile's first column.
    const Num first = distanceBlockOf(k).firstOf(Num(0), warpColumn);
    auto load = [&](int64_t tile, int64_t step) {
      return loadA(vectors, (tile - ownerTile) * 16, first, step);
    };
    SmallVector<SmallVector<Value>> upper;
    for (int64_t step = 0; step < steps; ++step)
      upper.push_back(load(0, step));
    for (int64_t s = 0; s < k.schedule.innerBlock / 16; ++s) {
      Registers products(16, b.number(0.0));
      for (int64_t step = 0; step < steps; ++step) {
        SmallVector<Value> right = loadB(rows, s * 16, 0, step);
        const SmallVector<Value> left[] = {upper[step], load(s + 1, step)};
        for (int64_t tile = 0; tile < 4; ++tile)
          addProduct(products, tile * 4, left[tile / 2],
                     ArrayRef<Value>(right).slice(tile % 2 * 2, 2));
        upper[step] = left[1];
      }
      for (int i = 0; i < 8; ++i) {
        Element at;
        at.ownerTile = ownerTile, at.ownerHalf = i / 4;
        at.innerTile = s * 2 + i / 2 % 2, at.innerHalf = i % 2;
        const int64_t rowTile = i / 2 % 2;
        pairs[k.indexOf({"r", "c"}, at)] =
            reflected({ReflectedAxis::Lanes}, rowTile, at.ownerHalf, at.innerHalf, 16,
                      [&](int64_t tile, int64_t half) {
                        return products[(tile / 2 * 2 + rowTile) * 4 + tile % 2 * 2 + half];
                      });
      }
    }
  }
}

} // namespace

void mlir::tile::gpu::emitWindowDot(Step &step, WindowDotOp op) {
  WindowDotEmitter(step, op).emit();
}

//===- Pairs by row and distance ------------------------------------------------------===//

/// The rows of zeros before and after the columns if columns own. An element of a diagonal is then
/// at a constant offset from the others, and needs no comparison.
constexpr int64_t kBorder = 16;

void mlir::tile::gpu::makePairPanels(Scope &around) {
  FragmentKernel &k = around.k;
  KernelBuilder &b = k.b;
  for (Operation &op : k.getStream().getBody().front()) {
    Value value;
    if (auto sum = dyn_cast<WindowSumOp>(op))
      value = sum.getValue();
    else if (auto outer = dyn_cast<WindowOuterOp>(op))
      value = outer.getValue();
    if (!value || around.pairPanelOf(value) || k.rowsOwn)
      continue;
    const Panel panel = k.shared.makePaddedPanel(k.schedule.ownerBlock(), k.schedule.innerBlock,
                                                 elementOf(value), kBorder);
    around.setPairPanel(value, panel);
    b.loop(k.thread, kBorder * panel.pitch() / 4, k.schedule.threads(), [&](Num word) {
      for (int64_t row : {-kBorder, panel.rows})
        b.store(b.integer(0), k.shared.at(word * Num(4) + Num(panel.offset + row * panel.pitch())));
    });
  }
}

Value DistanceReader::pairAt(const Panel &pairs, const Num &row, Num column, bool isFar) {
  Type type = pairs.elementBytes == 2 ? pairs.element : b.f32();
  const bool isChecked = isFar || k.rowsOwn;
  Value exists;
  if (isChecked) {
    exists = b.compare(arith::CmpIPredicate::ult, column, Num(block.columns));
    column = b.pick(exists, column, 0);
  }
  Value address;
  if (k.rowsOwn) {
    const Num inner = k.layout.standing(column), perChunk(pairs.perChunk());
    Value chunk = k.shared.chunkAddress(pairs, 0, row, 0, inner / perChunk);
    address = b.shared(chunk, inner % perChunk * Num(pairs.elementBytes));
  } else {
    address = k.shared.at(column * Num(pairs.pitch()) + row * Num(pairs.elementBytes) +
                          Num(pairs.offset));
  }
  Value value = b.load(type, address);
  if (!isChecked)
    return value;
  Value zero = b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(type)));
  return b.select(exists, value, zero);
}

SmallVector<Value>
DistanceReader::fragmentOf(llvm::function_ref<Value(int half, int64_t k)> elementAt) {
  SmallVector<Value> words;
  for (int i = 0; i < 4; ++i) {
    if (element.isTF32())
      words.push_back(b.create<LLVM::BitcastOp>(b.i32(), elementAt(i % 2, i / 2)));
    else
      words.push_back(b.pack(elementAt(i % 2, i / 2 * 8), elementAt(i % 2, i / 2 * 8 + 1)));
  }
  return words;
}

//===- Pairs to rows ------------------------------------------------------------------===//

namespace {

class WindowSumEmitter : DistanceReader {
public:
  WindowSumEmitter(Step &step, WindowSumOp op)
      : DistanceReader(step, elementOf(op.getValue())), op(op), spaces(spacesOf(op.getRows())),
        pairs(step.stagedPairs(op.getValue())), vectors(step.panelOf(op.getTable())),
        rowTiles(k.rowsOwn ? k.layout.ownerTiles : k.layout.foldTiles()),
        depthTiles(k.rowsOwn ? k.depthOf(spaces) / 8 : k.layout.foldDepthTiles(k.depthOf(spaces))),
        firstRow(k.rowsOwn ? k.warp * Num(k.layout.ownerTiles * 16)
                           : k.layout.foldedTile(k.warp) * Num(16)),
        sums(k.registersOf(spaces), b.number(0.0)) {}

  void emit() {
    here.set(op.getRows(), emitWithin(here, op, sums, [&] {
               if (isMatrixType())
                 byMatrices();
               else
                 exact();
               return sums;
             }));
  }

private:
  void byMatrices();
  void exact();
  /// Returns true if the warp shares its rows with others, so that it has only some of the depths.
  bool sharesRows() const { return !k.rowsOwn && k.layout.foldParts() > 1; }
  Num firstDepthTile() const {
    return sharesRows() ? k.foldedDepthTile(Element(), spaces) : Num(0);
  }

  WindowSumOp op;
  const SpaceSet spaces;
  const Panel pairs;
  const Panel &vectors;
  const int64_t rowTiles, depthTiles;
  const Num firstRow; // of the warp; also the first distance index that it meets
  Registers sums;
};

void WindowSumEmitter::byMatrices() {
  const Num depthTile = firstDepthTile();
  for (int64_t step = 0; step < (block.columns + 16) / stepSize(); ++step)
    for (int64_t tile = 0; tile < rowTiles; ++tile) {
      // Index k of the step at row g + 8 half: k = 2t + its constant part (tf32: 2t + 0, 1).
      SmallVector<Value> a = fragmentOf([&](int half, int64_t number) {
        const Num within = k.g + Num(half * 8);
        return pairAt(pairs, firstRow + Num(tile * 16) + within,
                      block.reflected(within, k.t * Num(2) + Num(step * stepSize() + number)));
      });
      for (int64_t pair = 0; pair < (depthTiles + 1) / 2; ++pair) {
        const int64_t row = tile * 16 + step * stepSize();
        SmallVector<Value> right =
            sharesRows() ? loadBTransposed(vectors, row, firstRow, 0, depthTile + Num(pair * 2))
                         : loadBTransposed(vectors, row, firstRow, pair * 2, 0);
        for (int64_t half = 0; half < 2 && pair * 2 + half < depthTiles; ++half)
          addProduct(sums, (tile * depthTiles + pair * 2 + half) * 4, a,
                     ArrayRef<Value>(right).slice(half * 2, 2));
      }
    }
}

void WindowSumEmitter::exact() {
  const Num depthTile = firstDepthTile();
  sums = b.loop(0, (block.columns + 16) / 4, 1, sums, [&](Num chunk, ValueRange carried) {
    Registers next(carried);
    for (int64_t tile = 0; tile < rowTiles; ++tile)
      for (int64_t n = 0; n < 4; ++n) {
        const Num number = chunk * Num(4) + Num(n);
        SmallVector<Value> left;
        for (int64_t half = 0; half < 2; ++half) {
          const Num within = k.g + Num(half * 8);
          left.push_back(
              pairAt(pairs, firstRow + Num(tile * 16) + within, block.reflected(within, number)));
        }
        for (int64_t depth = 0; depth < depthTiles; ++depth) {
          SmallVector<Value> right =
              twoAt(vectors, firstRow + number + Num(tile * 16), depthTile + Num(depth));
          for (int64_t i = 0; i < 4; ++i) {
            Value &sum = next[(tile * depthTiles + depth) * 4 + i];
            sum = b.fma(left[i / 2], right[i % 2], sum);
          }
        }
      }
    return next;
  });
}

} // namespace

void mlir::tile::gpu::emitWindowSum(Step &step, WindowSumOp op) {
  WindowSumEmitter(step, op).emit();
}
