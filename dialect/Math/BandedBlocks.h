//===- BandedBlocks.h - which blocks of rows and columns meet -------------===//
//
// A lowering that cuts rows and columns into blocks needs one relation in both directions: which
// blocks of columns a block of rows visits, and which blocks of rows visit a block of columns. A
// visit too few loses pairs; two directions that disagree make a kernel wait for a visit that never
// comes. Both are read from one statement here. With the band of a mask
//
//     column c is kept for row r iff  r + lower <= c < r + upper    (either end may be absent)
//
// two blocks meet iff some existing pair of theirs is kept. Seen from the columns this is a band
// again, so that both directions are the same function:
//
//     row r keeps column c            iff  c + (1 - upper) <= r < c + (1 - lower)
//
// The difference c - r takes every value between its extremes over two intervals, so the hull of
// what a block keeps is exact as long as the band itself keeps something (lower < upper).
//
// Example: causal (upper = 1), rows in blocks of 4, columns in blocks of 2, six of each. The block
// of rows 4, 5 visits the blocks of columns 0, 1, 2; the block of columns 4, 5 is visited by the
// block of rows 1 alone.
//
// Written over a number type `I` with +, -, * and / (of numbers that are not negative) and the free
// functions minOf, maxOf and pickIfLess: int64_t in the tests, arithmetic that is emitted in a
// lowering.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_BANDEDBLOCKS_H
#define PE_DIALECT_MATH_BANDEDBLOCKS_H

#include "dialect/Math/MaskIntervals.h"

namespace pe::math {

/// x where a < b, else y.
inline int64_t pickIfLess(int64_t a, int64_t b, int64_t x, int64_t y) { return a < b ? x : y; }

/// One side of the pairs: the elements of [begin, end) may be part of a pair, and block n is
/// [n * block, (n + 1) * block). `begin` is not negative; a side with begin >= end has no elements.
template <typename I> struct BlockedSide {
  I begin, end;
  int64_t block;
};

/// The kept pairs of one call, in blocks. The ends of the band are relative to row and column
/// numbers: the starts of a call are part of them.
template <typename I> struct BandedBlocks {
  std::optional<I> lower, upper;
  /// Whether lower < upper, which is known where starts are not: both ends have them in common.
  bool keepsSomething = true;
  BlockedSide<I> rows, columns;

  /// The blocks of columns that meet a block of rows: an interval of block numbers that is not
  /// negative and has begin == end where it is empty.
  Interval<I> columnBlocksOf(I rowBlock) const {
    return blocksMeeting(rowBlock, rows, columns, lower, upper);
  }
  /// The blocks of rows that meet a block of columns.
  Interval<I> rowBlocksOf(I columnBlock) const {
    return blocksMeeting(columnBlock, columns, rows, mirrored(upper), mirrored(lower));
  }

private:
  static std::optional<I> mirrored(const std::optional<I> &end) {
    return end ? std::optional<I>(I(1) - *end) : std::nullopt;
  }

  Interval<I> blocksMeeting(const I &number, const BlockedSide<I> &from, const BlockedSide<I> &to,
                            const std::optional<I> &first, const std::optional<I> &end) const {
    if (!keepsSomething)
      return {I(0), I(0)};
    const I fromBlock(from.block), toBlock(to.block);
    const I base = number * fromBlock;
    const I low = maxOf(base, from.begin), high = minOf(base + fromBlock, from.end);
    const I begin = first ? maxOf(low + *first, to.begin) : to.begin;
    const I last = end ? minOf(high + *end - I(1), to.end) : to.end;
    // Division is of numbers that are not negative; where there is no pair its result is unused.
    const I firstBlock = begin / toBlock;
    const I endBlock = (last + toBlock - I(1)) / toBlock;
    const I some = pickIfLess(low, high, endBlock, firstBlock);
    return {firstBlock, pickIfLess(begin, last, some, firstBlock)};
  }
};

} // namespace pe::math

#endif // PE_DIALECT_MATH_BANDEDBLOCKS_H
