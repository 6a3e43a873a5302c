//===- Fragments.cpp - operands of contractions from shared memory --------===//
#include "passes/ToGPU/Fragments.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

SmallVector<Value> FragmentReader::loadA(const Panel &panel, int64_t rowConstant, const Num &row,
                                         int64_t step) {
  auto own = ::pe::math::rowOfLeft(k.lane, row);
  return b.loadMatrices(k.shared.chunkAddress(panel, rowConstant, own.row, 2 * step, own.chunk),
                        /*transposed=*/false);
}

Value FragmentReader::wordAt(const Panel &panel, int64_t rowConstant, const Num &row, int odd,
                             int64_t columnConstant, const Num &column) {
  // A chunk has four words, so eight columns are two chunks.
  Num own = row + k.t * Num(2) + Num(odd);
  Value chunk = k.shared.chunkAddress(panel, rowConstant, own, columnConstant / 4, column / Num(4));
  return b.load(b.i32(), b.shared(chunk, column % Num(4) * Num(4)), 4);
}

SmallVector<Value> FragmentReader::loadATransposed(const Panel &panel, int64_t rowConstant,
                                                   const Num &column, int64_t columnConstant) {
  if (element.isTF32()) {
    SmallVector<Value> words;
    for (int i = 0; i < 4; ++i)
      words.push_back(
          wordAt(panel, rowConstant, 0, i / 2, columnConstant + i % 2 * 8, column + k.g));
    return words;
  }
  auto own = ::pe::math::rowOfLeftTransposed(k.lane, column);
  return b.loadMatrices(
      k.shared.chunkAddress(panel, rowConstant, own.row, columnConstant / 8, own.chunk),
      /*transposed=*/true);
}

SmallVector<Value> FragmentReader::loadB(const Panel &panel, int64_t rowConstant, const Num &row,
                                         int64_t step) {
  auto own = ::pe::math::rowOfRight(k.lane);
  return b.loadMatrices(
      k.shared.chunkAddress(panel, rowConstant, row + own.row, 2 * step, own.chunk),
      /*transposed=*/false);
}

SmallVector<Value> FragmentReader::loadBTransposed(const Panel &panel, int64_t rowConstant,
                                                   const Num &row, int64_t tileConstant,
                                                   const Num &tile) {
  if (element.isTF32()) {
    SmallVector<Value> words;
    for (int i = 0; i < 4; ++i) {
      // A tile number known only at run time may have the same bit set as the constant.
      const int64_t constant = tile.isConstant() ? i / 2 : 0;
      Num column = (tile + Num(i / 2 - constant)) * Num(8) + k.g;
      if (!tile.isConstant())
        column = minOf(column, Num(panel.depth - 1));
      words.push_back(
          wordAt(panel, rowConstant, row, i % 2, (tileConstant + constant) * 8, column));
    }
    return words;
  }
  auto own = ::pe::math::rowOfRightTransposed(k.lane, tile);
  if (!tile.isConstant())
    own.chunk = minOf(own.chunk, Num(panel.chunks() - 1));
  return b.loadMatrices(
      k.shared.chunkAddress(panel, rowConstant, row + own.row, tileConstant, own.chunk),
      /*transposed=*/true);
}

SmallVector<Value> FragmentReader::vectorAt(const Panel &panel, int64_t rowConstant, const Num &row,
                                            const Num &chunk) {
  return b.loadVector(4, k.shared.chunkAddress(panel, rowConstant, row, 0, chunk));
}

SmallVector<Value> FragmentReader::twoAt(const Panel &panel, const Num &row, const Num &tile) {
  Num column = tile * Num(8) + k.t * Num(2);
  if (!tile.isConstant())
    column = minOf(column, Num(panel.depth - 2));
  Value address = k.shared.chunkAddress(panel, 0, row, 0, column / Num(4));
  Value two = b.load(VectorType::get({2}, b.f32()), b.shared(address, column % Num(4) * Num(4)), 8);
  return {b.create<LLVM::ExtractElementOp>(b.f32(), two, b.integer(0)),
          b.create<LLVM::ExtractElementOp>(b.f32(), two, b.integer(1))};
}

void FragmentReader::addProduct(Registers &sums, int64_t at, ArrayRef<Value> left,
                                ArrayRef<Value> right) {
  SmallVector<Value> d = b.mma(element, left, right, ArrayRef<Value>(sums).slice(at, 4));
  llvm::copy(d, sums.begin() + at);
}
