//===- Dots.cpp - contractions on matrix units and in f32 -----------------===//
//
// 16-bit operands: mma.sync m16n8k16 on fragments that ldmatrix brings from shared memory. tf32:
// mma.sync m16n8k8; a chunk of four words is a row of an 8 x 8 matrix of halves, so ldmatrix brings
// its fragments too, but cannot transpose them: those are read word by word. Where the contraction
// is over pairs, its order is ours: word t of a fragment is number 2t, word t + 4 number 2t + 1, so
// that accumulators are left-hand fragments as they are and the lanes read different banks. f32
// operands: exact multiply-adds, every lane on the elements of the accumulator tiles that it owns,
// operands read from shared memory in vectors along the contraction where they lie so.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Emitters.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

bool isMatrixType(Type element) { return !element.isF32(); }

class DotEmitter {
public:
  DotEmitter(Step &step, DotOp dot)
      : here(step), k(step.k), b(k.b), dot(dot), result(spacesOf(dot.getOutput())),
        element(cast<ValType>(dot.getRhs().getType()).getElementType()) {}

  void emit() {
    if (isDepth(dot.getAxis()))
      return overDepth();
    return (dot.getAxis() == "r") == k.rowsOwn ? overOwner() : overInner();
  }

private:
  void overDepth();
  void overInner();
  void overOwner();

  Registers start();
  /// What one fragment contracts: 16, or 8 of tf32.
  int64_t stepSize() const { return element.isTF32() ? 8 : 16; }
  /// Fragment of 16 owners: rows [rowConstant, +16) of the panel, depths of the step.
  SmallVector<Value> loadA(const Panel &panel, int64_t rowConstant, const Num &row, int64_t step);
  /// Its transpose: A[m][k] from a panel whose rows are k.
  SmallVector<Value> loadATransposed(const Panel &panel, int64_t rowConstant, const Num &column,
                                     int64_t columnConstant);
  /// The word of tf32 panel row `rowConstant + 2t + odd` and a column.
  Value wordAt(const Panel &panel, int64_t rowConstant, int odd, int64_t columnConstant,
               const Num &column);
  /// Two fragments for columns [rowConstant, +16) of the result: B[k][n] from rows n of the panel.
  SmallVector<Value> loadB(const Panel &panel, int64_t rowConstant, int64_t step);
  /// The same from a panel whose rows are k: depths [8 tileConstant + 8 tile, +16).
  SmallVector<Value> loadBTransposed(const Panel &panel, int64_t rowConstant, int64_t tileConstant,
                                     const Num &tile);
  /// Left-hand fragment of a step over pairs, from accumulators of pairs.
  SmallVector<Value> fragmentOf(const Registers &pairs, int64_t ownerTile, int64_t step);
  SmallVector<Value> vectorAt(const Panel &panel, int64_t rowConstant, const Num &row,
                              const Num &chunk);
  void exactOverDepth(Registers &sums, const Panel &owner, const Panel &inner);
  /// sums[row tile][depth tile] += left[row][k] * right[k][depth], left in memory by rows.
  void exactProduct(Registers &sums, const Panel &left, const Panel &right, int64_t steps,
                    bool isTransposed, const Num &leftBase, int64_t tiles, int64_t depthTiles,
                    const Num &firstDepthTile);

  Step &here;
  FragmentKernel &k;
  KernelBuilder &b;
  DotOp dot;
  SpaceSet result;
  Type element;
};

/// The accumulators' first value: `init`, broadcast over pairs where it is a vector.
Registers DotEmitter::start() {
  const int64_t count = k.registersOf(result);
  if (const Registers *fold = here.foldOf(dot.getOutput()))
    return *fold;
  if (!dot.getInit())
    return Registers(count, b.number(0.0));
  const SpaceSet &from = spacesOf(dot.getInit());
  const Registers &init = here.registers(dot.getInit());
  if (from == result)
    return init;
  Registers values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(init[k.indexOf(from, k.elementAt(result, i))]);
  return values;
}

//===- Fragments from shared memory -------------------------------------------------===//

SmallVector<Value> DotEmitter::loadA(const Panel &panel, int64_t rowConstant, const Num &row,
                                     int64_t step) {
  auto own = ::pe::math::rowOfLeft(k.lane, row);
  return b.loadMatrices(k.shared.chunkAddress(panel, rowConstant, own.row, 2 * step, own.chunk),
                        /*transposed=*/false);
}

Value DotEmitter::wordAt(const Panel &panel, int64_t rowConstant, int odd, int64_t columnConstant,
                         const Num &column) {
  // A chunk has four words, so eight columns are two chunks.
  Num row = k.t * Num(2) + Num(odd);
  Value chunk = k.shared.chunkAddress(panel, rowConstant, row, columnConstant / 4, column / Num(4));
  return b.load(b.i32(), b.shared(chunk, column % Num(4) * Num(4)), 4);
}

SmallVector<Value> DotEmitter::loadATransposed(const Panel &panel, int64_t rowConstant,
                                               const Num &column, int64_t columnConstant) {
  if (element.isTF32()) {
    SmallVector<Value> words;
    for (int i = 0; i < 4; ++i)
      words.push_back(wordAt(panel, rowConstant, i / 2, columnConstant + i % 2 * 8, column + k.g));
    return words;
  }
  auto own = ::pe::math::rowOfLeftTransposed(k.lane, column);
  return b.loadMatrices(
      k.shared.chunkAddress(panel, rowConstant, own.row, columnConstant / 8, own.chunk),
      /*transposed=*/true);
}

SmallVector<Value> DotEmitter::loadB(const Panel &panel, int64_t rowConstant, int64_t step) {
  auto own = ::pe::math::rowOfRight(k.lane);
  return b.loadMatrices(k.shared.chunkAddress(panel, rowConstant, own.row, 2 * step, own.chunk),
                        /*transposed=*/false);
}

SmallVector<Value> DotEmitter::loadBTransposed(const Panel &panel, int64_t rowConstant,
                                               int64_t tileConstant, const Num &tile) {
  if (element.isTF32()) {
    SmallVector<Value> words;
    for (int i = 0; i < 4; ++i) {
      // A tile that is known at run time only may have the constant's bit.
      const int64_t constant = tile.isConstant() ? i / 2 : 0;
      words.push_back(wordAt(panel, rowConstant, i % 2, (tileConstant + constant) * 8,
                             (tile + Num(i / 2 - constant)) * Num(8) + k.g));
    }
    return words;
  }
  auto own = ::pe::math::rowOfRightTransposed(k.lane, tile);
  return b.loadMatrices(k.shared.chunkAddress(panel, rowConstant, own.row, tileConstant, own.chunk),
                        /*transposed=*/true);
}

SmallVector<Value> DotEmitter::fragmentOf(const Registers &pairs, int64_t ownerTile, int64_t step) {
  SmallVector<Value> fragment;
  for (int64_t i = 0; i < 4; ++i) {
    if (element.isTF32()) {
      const int64_t at = (ownerTile * k.layout.innerTiles() + step) * 4 + i % 2 * 2 + i / 2;
      fragment.push_back(b.create<LLVM::BitcastOp>(b.i32(), pairs[at]));
    } else { // two accumulator tiles
      const int64_t at = (ownerTile * k.layout.innerTiles() + step * 2 + i / 2) * 4 + i % 2 * 2;
      fragment.push_back(b.pack(pairs[at], pairs[at + 1]));
    }
  }
  return fragment;
}

/// Four f32 of one chunk.
SmallVector<Value> DotEmitter::vectorAt(const Panel &panel, int64_t rowConstant, const Num &row,
                                        const Num &chunk) {
  auto type = VectorType::get({4}, b.f32());
  Value vector = b.load(type, k.shared.chunkAddress(panel, rowConstant, row, 0, chunk), 16);
  SmallVector<Value> values;
  for (int i = 0; i < 4; ++i)
    values.push_back(b.create<LLVM::ExtractElementOp>(b.f32(), vector, b.integer(i)));
  return values;
}

//===- Over the depth: pairs -----------------------------------------------------------===//

void DotEmitter::overDepth() {
  const bool lhsOwns = k.isOwnerSide(spacesOf(dot.getLhs()));
  Value ownerValue = lhsOwns ? dot.getLhs() : dot.getRhs();
  Value innerValue = lhsOwns ? dot.getRhs() : dot.getLhs();
  const Panel &owner = here.panelOf(ownerValue), &inner = here.panelOf(innerValue);
  Registers sums = start();
  if (!isMatrixType(element)) {
    exactOverDepth(sums, owner, inner);
    here.set(dot.getOutput(), std::move(sums));
    return;
  }
  Num warpRow = k.warp * Num(k.layout.ownerTiles * 16);
  for (int64_t step = 0, e = llvm::divideCeil(owner.depth, stepSize()); step < e; ++step) {
    SmallVector<SmallVector<Value>> a;
    for (int64_t tile = 0; tile < k.layout.ownerTiles; ++tile)
      a.push_back(loadA(owner, tile * 16, warpRow, step));
    for (int64_t pair = 0; pair < k.layout.innerTiles() / 2; ++pair) {
      SmallVector<Value> bPair = loadB(inner, pair * 16, step);
      for (int64_t tile = 0; tile < k.layout.ownerTiles; ++tile)
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t at = (tile * k.layout.innerTiles() + pair * 2 + half) * 4;
          auto c = ArrayRef<Value>(sums).slice(at, 4);
          SmallVector<Value> d =
              b.mma(element, a[tile], ArrayRef<Value>(bPair).slice(half * 2, 2), c);
          llvm::copy(d, sums.begin() + at);
        }
    }
  }
  here.set(dot.getOutput(), std::move(sums));
}

void DotEmitter::exactOverDepth(Registers &sums, const Panel &owner, const Panel &inner) {
  Num ownerRow = k.warp * Num(k.layout.ownerTiles * 16) + k.g;
  sums = b.loop(0, owner.depth / 4, 1, sums, [&](Num chunk, ValueRange carried) {
    Registers next(carried);
    SmallVector<SmallVector<Value>> left, right;
    for (int64_t row = 0; row < k.layout.ownerTiles * 2; ++row)
      left.push_back(vectorAt(owner, row * 8, ownerRow, chunk));
    for (int64_t i = 0; i < k.layout.innerTiles() * 2; ++i)
      right.push_back(vectorAt(inner, i / 2 * 8, k.t * Num(2) + Num(i % 2), chunk));
    for (int n = 0; n < 4; ++n)
      for (auto [index, sum] : llvm::enumerate(next)) {
        Element at = k.elementAt({"r", "c"}, index);
        sum = b.fma(left[at.ownerTile * 2 + at.ownerHalf][n],
                    right[at.innerTile * 2 + at.innerHalf][n], sum);
      }
    return next;
  });
}

//===- Over the inner side: owner panels -------------------------------------------------===//

void DotEmitter::overInner() {
  const Panel &panel = here.panelOf(dot.getRhs());
  const Registers &pairs = here.registers(dot.getLhs());
  Registers sums = start();
  const int64_t tiles = k.depthOf(result) / 8;
  if (!isMatrixType(element)) {
    // Through memory of the warp: a lane needs all pairs of its owners.
    exactProduct(sums, here.pairsOfWarp(pairs), panel, k.schedule.innerBlock / 4,
                 /*isTransposed=*/false, k.warp * Num(k.layout.ownerTiles * 16),
                 k.layout.ownerTiles, tiles, 0);
    here.set(dot.getOutput(), std::move(sums));
    return;
  }
  for (int64_t step = 0; step < k.schedule.innerBlock / stepSize(); ++step) {
    SmallVector<SmallVector<Value>> a;
    for (int64_t tile = 0; tile < k.layout.ownerTiles; ++tile)
      a.push_back(fragmentOf(pairs, tile, step));
    for (int64_t pair = 0; pair < (tiles + 1) / 2; ++pair) {
      SmallVector<Value> bPair = loadBTransposed(panel, step * stepSize(), pair * 2, 0);
      for (int64_t tile = 0; tile < k.layout.ownerTiles; ++tile)
        for (int64_t half = 0; half < 2 && pair * 2 + half < tiles; ++half) {
          const int64_t at = (tile * tiles + pair * 2 + half) * 4;
          auto c = ArrayRef<Value>(sums).slice(at, 4);
          SmallVector<Value> d =
              b.mma(element, a[tile], ArrayRef<Value>(bPair).slice(half * 2, 2), c);
          llvm::copy(d, sums.begin() + at);
        }
    }
  }
  here.set(dot.getOutput(), std::move(sums));
}

void DotEmitter::exactProduct(Registers &sums, const Panel &left, const Panel &right, int64_t steps,
                              bool isTransposed, const Num &leftBase, int64_t tiles,
                              int64_t depthTiles, const Num &firstDepthTile) {
  auto pairType = VectorType::get({2}, b.f32());
  sums = b.loop(0, steps, 1, sums, [&](Num chunk, ValueRange carried) {
    Registers next(carried);
    // left[row][k]: four k of one chunk, or for a transposed panel one element of each row k.
    SmallVector<SmallVector<Value>> rows;
    for (int64_t row = 0; row < tiles * 2; ++row) {
      if (!isTransposed) {
        rows.push_back(vectorAt(left, row * 8, leftBase + k.g, chunk));
        continue;
      }
      Num column = leftBase + k.g + Num(row * 8);
      SmallVector<Value> values;
      for (int n = 0; n < 4; ++n) {
        Value address = k.shared.chunkAddress(left, 0, chunk * Num(4) + Num(n), 0, column / Num(4));
        values.push_back(b.load(b.f32(), b.shared(address, column % Num(4) * Num(4)), 4));
      }
      rows.push_back(values);
    }
    for (int64_t tile = 0; tile < depthTiles; ++tile)
      for (int n = 0; n < 4; ++n) {
        Num depth = (firstDepthTile + Num(tile)) * Num(8) + k.t * Num(2);
        Value address = k.shared.chunkAddress(right, 0, chunk * Num(4) + Num(n), 0, depth / Num(4));
        Value pair = b.load(pairType, b.shared(address, depth % Num(4) * Num(4)), 8);
        for (int64_t e = 0; e < 2; ++e) {
          Value factor = b.create<LLVM::ExtractElementOp>(b.f32(), pair, b.integer(e));
          for (int64_t row = 0; row < tiles * 2; ++row) {
            Value &sum = next[(row / 2 * depthTiles + tile) * 4 + row % 2 * 2 + e];
            sum = b.fma(rows[row][n], factor, sum);
          }
        }
      }
    return next;
  });
}

//===- Over the owner side: inner panels --------------------------------------------------===//

void DotEmitter::overOwner() {
  const Panel &panel = here.panelOf(dot.getRhs());
  const Panel staged = here.stagedPairs(dot.getLhs());
  Registers sums = start();
  const int64_t tiles = k.layout.foldTiles(), across = k.layout.foldDepthTiles(k.depthOf(result));
  const int64_t steps = k.schedule.ownerBlock();
  Num tile = k.layout.foldedTile(k.warp);
  Num depthTile = k.foldedDepthTile(Element(), result);
  if (!isMatrixType(element)) {
    exactProduct(sums, staged, panel, steps / 4, /*isTransposed=*/true, tile * Num(16), tiles,
                 across, depthTile);
    here.set(dot.getOutput(), std::move(sums));
    return;
  }
  for (int64_t step = 0; step < steps / stepSize(); ++step) {
    const int64_t row = step * stepSize();
    SmallVector<SmallVector<Value>> a;
    for (int64_t i = 0; i < tiles; ++i)
      a.push_back(loadATransposed(staged, row, tile * Num(16), i * 16));
    for (int64_t pair = 0; pair < (across + 1) / 2; ++pair) {
      SmallVector<Value> bPair = k.layout.foldParts() > 1
                                     ? loadBTransposed(panel, row, 0, depthTile + Num(pair * 2))
                                     : loadBTransposed(panel, row, pair * 2, 0);
      for (int64_t i = 0; i < tiles; ++i)
        for (int64_t half = 0; half < 2 && pair * 2 + half < across; ++half) {
          const int64_t at = (i * across + pair * 2 + half) * 4;
          auto c = ArrayRef<Value>(sums).slice(at, 4);
          SmallVector<Value> d = b.mma(element, a[i], ArrayRef<Value>(bPair).slice(half * 2, 2), c);
          llvm::copy(d, sums.begin() + at);
        }
    }
  }
  here.set(dot.getOutput(), std::move(sums));
}

} // namespace

void mlir::tile::gpu::emitDot(Step &step, DotOp dot) { DotEmitter(step, dot).emit(); }
