//===- KeptPairs.h - The pairs of rows and columns that a call keeps ------===//
//
// Every lowering needs the same facts about a mask: the columns that a row keeps; whether a block
// of rows and a block of columns share no pairs, some pairs or all pairs; the blocks of the other
// side that a block visits, the blocks that visit it, and their number. All of them are computed
// here, so that they are consistent: a missing visit loses pairs, and a kernel that counts a visit
// that never happens waits forever. With the band of a mask
//
//     column c is kept for row r iff  r + lower <= c < r + upper    (either end may be absent)
//
// a row keeps an interval whose ends increase with the row, so the first and last row determine the
// columns of a block of rows. Two blocks meet iff at least one of their existing pairs is kept.
// From the perspective of the columns this is also a band, so one function serves both directions:
//
//     row r keeps column c            iff  c + (1 - upper) <= r < c + (1 - lower)
//
// Over two intervals, the difference c - r takes every value between its extremes, so the hull of
// the pairs that a block keeps is exact if the band is not empty (lower < upper).
//
// Example: causal (upper = 1), six rows in blocks of 4, six columns in blocks of 2. The block of
// rows 4, 5 visits the blocks of columns 0, 1, 2. Only the block of rows 4, 5 visits the block of
// columns 4, 5.
//
// Generic over a number type `I` with +, -, * and / (on nonnegative numbers) and the free
// functions minOf, maxOf and pickIfLess: int64_t in the tests, emitted arithmetic in a lowering.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_KEPTPAIRS_H
#define PE_DIALECT_MATH_KEPTPAIRS_H

#include <algorithm>
#include <cstdint>
#include <optional>

namespace mlir::tile { // the namespace of the dialect, although this header does not use MLIR

/// The ends of the kept interval, relative to the position of the row: position j is kept for a
/// query at i iff i + lower <= j < i + upper. Magnitudes are below 2^31 (DifferenceRange.h).
struct MaskBand {
  std::optional<int64_t> lower, upper;

  static MaskBand none() { return {}; }
  static MaskBand causal() { return {std::nullopt, 1}; }
  static MaskBand strictCausal() { return {std::nullopt, 0}; }
  /// Returns the band of i - j < left and j - i < right.
  static MaskBand window(int64_t left, int64_t right) { return {1 - left, right}; }
  /// Returns true if at least one difference of positions is kept.
  bool keepsSomething() const { return !lower || !upper || *lower < *upper; }
};

inline int64_t minOf(int64_t a, int64_t b) { return std::min(a, b); }
inline int64_t maxOf(int64_t a, int64_t b) { return std::max(a, b); }
/// Returns x if a < b, else y.
inline int64_t pickIfLess(int64_t a, int64_t b, int64_t x, int64_t y) { return a < b ? x : y; }

/// A half-open interval.
template <typename I> struct Interval {
  I begin, end;
};

/// One side of the pairs: the elements of [begin, end) may be part of a pair, and block n is
/// [n * block, (n + 1) * block). `begin` is not negative; a side with begin >= end has no elements.
template <typename I> struct BlockedSide {
  I begin, end;
  int64_t block = 1;
};

/// The rank of a block among those that visit another block, and the number of these visitors.
template <typename I> struct Visit {
  I number, total;
};

/// The kept pairs of one call. The ends of the band are relative to row and column numbers, so they
/// include the starts of the call.
template <typename I> struct KeptPairs {
  std::optional<I> lower, upper;
  /// MaskBand::keepsSomething. It is known even if the starts are not, because they shift both ends
  /// equally.
  bool keepsSomething = true;
  BlockedSide<I> rows, columns;

  //===- Elements --------------------------------------------------------------===//

  /// Return the first column kept for row `r` and the one past the last, clamped to existing
  /// columns. Row `r` must exist.
  I firstColumn(const I &r) const { return lower ? inside(r + *lower, columns) : columns.begin; }
  I endColumn(const I &r) const { return upper ? inside(r + *upper, columns) : columns.end; }

  /// Return the columns that any row, or all rows, of [first, last] (inclusive) keep. columnsOfAll
  /// is empty, possibly with begin > end, if the rows have no column in common.
  Interval<I> columnsOfAny(const I &first, const I &last) const {
    return {firstColumn(first), endColumn(last)};
  }
  Interval<I> columnsOfAll(const I &first, const I &last) const {
    return {firstColumn(last), endColumn(first)};
  }

  /// Returns the rows that keep any column of [begin, end), which must not be empty.
  Interval<I> rowsOfAny(const I &begin, const I &end) const {
    const I low = upper ? maxOf(rows.begin, begin + I(1) - *upper) : rows.begin;
    const I high = lower ? inside(end - *lower, rows) : rows.end;
    return {minOf(low, rows.end), high};
  }

  //===- Blocks ----------------------------------------------------------------===//

  /// Returns the blocks of columns that meet a block of rows: an interval of nonnegative block
  /// numbers, with begin == end if it is empty.
  Interval<I> columnBlocksOf(const I &rowBlock) const {
    return blocksMeeting(rowBlock, rows, columns, lower, upper);
  }
  /// Returns the blocks of rows that meet a block of columns.
  Interval<I> rowBlocksOf(const I &columnBlock) const {
    return blocksMeeting(columnBlock, columns, rows, mirrored(upper), mirrored(lower));
  }

  /// Return the rank of a block among the blocks of rows that visit a block of columns, or vice
  /// versa. The first block has rank 0, or the last one if `descends`.
  Visit<I> visitOfRowBlock(const I &rowBlock, const I &columnBlock, bool descends) const {
    return visitAmong(rowBlocksOf(columnBlock), rowBlock, descends);
  }
  Visit<I> visitOfColumnBlock(const I &columnBlock, const I &rowBlock, bool descends) const {
    return visitAmong(columnBlocksOf(rowBlock), columnBlock, descends);
  }

private:
  static I inside(const I &x, const BlockedSide<I> &side) {
    return minOf(side.end, maxOf(side.begin, x));
  }

  static std::optional<I> mirrored(const std::optional<I> &end) {
    return end ? std::optional<I>(I(1) - *end) : std::nullopt;
  }

  static Visit<I> visitAmong(const Interval<I> &visitors, const I &block, bool descends) {
    return {descends ? visitors.end - I(1) - block : block - visitors.begin,
            visitors.end - visitors.begin};
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
    // Only nonnegative numbers are divided. If there is no pair, the result is unused.
    const I firstBlock = begin / toBlock;
    const I endBlock = (last + toBlock - I(1)) / toBlock;
    const I some = pickIfLess(low, high, endBlock, firstBlock);
    return {firstBlock, pickIfLess(begin, last, some, firstBlock)};
  }
};

/// Returns the units of diagonals that an owner block completes. Sums along diagonals are passed on
/// in units with as many diagonals as an inner block has elements. With `perOwner` inner blocks per
/// owner block, an owner block that visits the inner blocks `visited` completes one unit with each
/// of them and, after the last one, the remaining `perOwner` units. Unit u of owner block n covers
/// the same diagonals as unit u - n * perOwner of owner block 0. An owner block without visits
/// completes no units.
template <typename I> Interval<I> diagonalUnitsOf(const Interval<I> &visited, int64_t perOwner) {
  return {visited.begin,
          pickIfLess(visited.begin, visited.end, visited.end + I(perOwner), visited.begin)};
}

} // namespace mlir::tile

#endif // PE_DIALECT_MATH_KEPTPAIRS_H
