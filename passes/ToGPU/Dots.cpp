//===- Dots.cpp - contractions on matrix units and in f32 -----------------===//
//
// Operands of 16 bits and tf32 use mma.sync m16n8k16 and m16n8k8 (Fragments.h). f32 operands use
// exact multiply-adds, every lane for the elements of the accumulator tiles that it owns.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Fragments.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

class DotEmitter : FragmentReader {
public:
  DotEmitter(Step &step, DotOp dot)
      : FragmentReader(step.k, elementOf(dot.getRhs())), here(step), dot(dot),
        result(spacesOf(dot.getOutput())) {}

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
  /// Returns the left-hand fragment of a step over pairs, from accumulators of pairs.
  SmallVector<Value> fragmentOf(const Registers &pairs, int64_t ownerTile, int64_t step);
  void exactOverDepth(Registers &sums, const Panel &owner, const Panel &inner);
  /// Adds left[row][k] * right[k][depth] to sums[row tile][depth tile]; left is in memory by rows.
  void exactProduct(Registers &sums, const Panel &left, const Panel &right, int64_t steps,
                    bool isTransposed, const Num &leftBase, int64_t tiles, int64_t depthTiles,
                    const Num &firstDepthTile);

  Step &here;
  DotOp dot;
  SpaceSet result;
};

/// Returns the initial accumulators: `init`, broadcast over pairs if it is a vector.
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

//===- Over the depth: pairs -----------------------------------------------------------===//

void DotEmitter::overDepth() {
  const bool lhsOwns = k.isOwnerSide(spacesOf(dot.getLhs()));
  Value ownerValue = lhsOwns ? dot.getLhs() : dot.getRhs();
  Value innerValue = lhsOwns ? dot.getRhs() : dot.getLhs();
  const Panel &owner = here.panelOf(ownerValue), &inner = here.panelOf(innerValue);
  Registers sums = start();
  if (!isMatrixType()) {
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
      SmallVector<Value> bPair = loadB(inner, pair * 16, 0, step);
      for (int64_t tile = 0; tile < k.layout.ownerTiles; ++tile)
        for (int64_t half = 0; half < 2; ++half)
          addProduct(sums, (tile * k.layout.innerTiles() + pair * 2 + half) * 4, a[tile],
                     ArrayRef<Value>(bPair).slice(half * 2, 2));
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
  const Panel *loaded = here.isPanel(dot.getLhs()) ? &here.panelOf(dot.getLhs()) : nullptr;
  const Registers pairs = loaded ? Registers() : here.registers(dot.getLhs());
  Registers sums = start();
  const int64_t tiles = k.depthOf(result) / 8;
  const Num column = k.warp * Num(k.layout.ownerTiles * 16);
  if (!isMatrixType()) {
    // Pairs pass through memory of the warp, because a lane needs all pairs of its owners.
    exactProduct(sums, here.pairsOfWarp(pairs), panel, k.schedule.innerBlock / 4,
                 /*isTransposed=*/false, k.warp * Num(k.layout.ownerTiles * 16),
                 k.layout.ownerTiles, tiles, 0);
    here.set(dot.getOutput(), std::move(sums));
    return;
  }
  for (int64_t step = 0; step < k.schedule.innerBlock / stepSize(); ++step) {
    SmallVector<SmallVector<Value>> a;
    for (int64_t tile = 0; tile < k.layout.ownerTiles; ++tile)
      a.push_back(loaded ? loadATransposed(*loaded, step * 16, column, tile * 16)
                         : fragmentOf(pairs, tile, step));
    for (int64_t pair = 0; pair < (tiles + 1) / 2; ++pair) {
      SmallVector<Value> bPair = loadBTransposed(panel, step * stepSize(), 0, pair * 2, 0);
      for (int64_t tile = 0; tile < k.layout.ownerTiles; ++tile)
        for (int64_t half = 0; half < 2 && pair * 2 + half < tiles; ++half)
          addProduct(sums, (tile * tiles + pair * 2 + half) * 4, a[tile],
                     ArrayRef<Value>(bPair).slice(half * 2, 2));
    }
  }
  here.set(dot.getOutput(), std::move(sums));
}

void DotEmitter::exactProduct(Registers &sums, const Panel &left, const Panel &right, int64_t steps,
                              bool isTransposed, const Num &leftBase, int64_t tiles,
                              int64_t depthTiles, const Num &firstDepthTile) {
  sums = b.loop(0, steps, 1, sums, [&](Num chunk, ValueRange carried) {
    Registers next(carried);
    // left[row][k] holds four k of one chunk or, for a transposed panel, one element of each row k.
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
        SmallVector<Value> factors =
            twoAt(right, chunk * Num(4) + Num(n), firstDepthTile + Num(tile));
        for (int64_t e = 0; e < 2; ++e)
          for (int64_t row = 0; row < tiles * 2; ++row) {
            Value &sum = next[(row / 2 * depthTiles + tile) * 4 + row % 2 * 2 + e];
            sum = b.fma(rows[row][n], factors[e], sum);
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
  if (!isMatrixType()) {
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
                                     ? loadBTransposed(panel, row, 0, 0, depthTile + Num(pair * 2))
                                     : loadBTransposed(panel, row, 0, pair * 2, 0);
      for (int64_t i = 0; i < tiles; ++i)
        for (int64_t half = 0; half < 2 && pair * 2 + half < across; ++half)
          addProduct(sums, (i * across + pair * 2 + half) * 4, a[i],
                     ArrayRef<Value>(bPair).slice(half * 2, 2));
    }
  }
  here.set(dot.getOutput(), std::move(sums));
}

} // namespace

void mlir::tile::gpu::emitDot(Step &step, DotOp dot) { DotEmitter(step, dot).emit(); }
