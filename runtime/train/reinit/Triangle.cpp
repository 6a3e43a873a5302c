//===- Triangle.cpp - Triangular solves by matrix products ----------------===//

#include "runtime/train/reinit/Triangle.h"

#include <algorithm>

namespace pe::reinit {
namespace {

/// Edge of the inverted diagonal blocks.
constexpr int64_t kBlock = 32;

} // namespace

Triangle::Range Triangle::Range::first() const {
  const int64_t blocks = (size + kBlock - 1) / kBlock;
  return {begin, (blocks + 1) / 2 * kBlock};
}

Triangle::Range Triangle::Range::second() const {
  const int64_t before = first().size;
  return {begin + before, size - before};
}

Triangle::Triangle(int64_t size, const double *r, int64_t pitch)
    : size(size), pitch(pitch), r(r), inverses((size + kBlock - 1) / kBlock * kBlock * kBlock) {
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t edge = std::min(kBlock, size - begin);
    double *inverse = inverses.data() + begin * kBlock;
    for (int64_t i = 0; i < edge; ++i)
      inverse[i * kBlock + i] = 1;
    blas::solveLeft(edge, edge, r + begin * (pitch + 1), pitch, Transpose::No, inverse, kBlock);
  }
}

blas::Operand<double> Triangle::across(Range range, Transpose transpose) const {
  return {r + range.begin * pitch + range.second().begin, pitch, transpose};
}

blas::Operand<double> Triangle::inverse(Range block, Transpose transpose) const {
  return {inverses.data() + block.begin * kBlock, kBlock, transpose};
}

void Triangle::solveRight(int64_t rows, Transpose transpose, double *x, int64_t pitchX) const {
  std::vector<double> scratch(rows * kBlock);
  solveRight({0, size}, {rows, pitchX, transpose, scratch.data()}, x);
}

void Triangle::solveLeft(int64_t cols, Transpose transpose, double *x, int64_t pitchX) const {
  std::vector<double> scratch(kBlock * cols);
  solveLeft({0, size}, {cols, pitchX, transpose, scratch.data()}, x);
}

void Triangle::solveRight(Range range, const Strip &strip, double *x) const {
  if (range.size <= kBlock) {
    for (int64_t i = 0; i < strip.width; ++i)
      std::copy_n(x + i * strip.pitch, range.size, strip.scratch + i * kBlock);
    return blas::gemm(strip.width, range.size, range.size,
                      blas::Operand<double>{strip.scratch, kBlock}, inverse(range, strip.transpose),
                      0.0, x, strip.pitch);
  }
  const Range first = range.first(), second = range.second();
  double *right = x + first.size;
  if (strip.transpose == Transpose::No) {
    solveRight(first, strip, x);
    blas::gemm(strip.width, second.size, first.size, blas::Operand<double>{x, strip.pitch},
               across(range, Transpose::No), 1.0, right, strip.pitch, -1.0);
    solveRight(second, strip, right);
  } else {
    solveRight(second, strip, right);
    blas::gemm(strip.width, first.size, second.size, blas::Operand<double>{right, strip.pitch},
               across(range, Transpose::Yes), 1.0, x, strip.pitch, -1.0);
    solveRight(first, strip, x);
  }
}

void Triangle::solveLeft(Range range, const Strip &strip, double *x) const {
  if (range.size <= kBlock) {
    for (int64_t i = 0; i < range.size; ++i)
      std::copy_n(x + i * strip.pitch, strip.width, strip.scratch + i * strip.width);
    return blas::gemm(range.size, strip.width, range.size, inverse(range, strip.transpose),
                      blas::Operand<double>{strip.scratch, strip.width}, 0.0, x, strip.pitch);
  }
  const Range first = range.first(), second = range.second();
  double *below = x + first.size * strip.pitch;
  if (strip.transpose == Transpose::Yes) {
    solveLeft(first, strip, x);
    blas::gemm(second.size, strip.width, first.size, across(range, Transpose::Yes),
               blas::Operand<double>{x, strip.pitch}, 1.0, below, strip.pitch, -1.0);
    solveLeft(second, strip, below);
  } else {
    solveLeft(second, strip, below);
    blas::gemm(first.size, strip.width, second.size, across(range, Transpose::No),
               blas::Operand<double>{below, strip.pitch}, 1.0, x, strip.pitch, -1.0);
    solveLeft(first, strip, x);
  }
}

} // namespace pe::reinit
