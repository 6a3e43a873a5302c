//===- MaskIntervals.h - which keys a row may see, as intervals -----------===//
//
// Every symbolic mask keeps, for one row, an interval of columns whose ends move with
// the row: column c is kept for row r iff
//
//     r + lower <= c < r + upper                (either end may be absent)
//
// with rows and columns counted within the call. Because both ends rise with r, a block
// of rows is answered by its first and last row: `any` is the hull of what some row of
// the block sees, `full` what every row of it sees.
//
// Example: causal, queries starting at 4 and keys at 0: upper = 5. Rows 0..3 see any =
// [0, 8), full = [0, 5).
//
// The functions are written over any number type `I` with +, -, and the free functions
// minOf(I, I) and maxOf(I, I): int64_t in the tests, index arithmetic that is emitted in
// the lowerings.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_MASKINTERVALS_H
#define PE_DIALECT_MATH_MASKINTERVALS_H

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pe::math {

/// Ends of the kept interval in positions, relative to the row's own: position j is kept for a
/// query at i iff i + lower <= j < i + upper. Magnitudes are below 2^31 (DifferenceRange.h).
struct MaskBand {
  std::optional<int64_t> lower;
  std::optional<int64_t> upper;

  static MaskBand none() { return {}; }
  static MaskBand causal() { return {std::nullopt, 1}; }
  static MaskBand strictCausal() { return {std::nullopt, 0}; }
  /// i - j < left and j - i < right.
  static MaskBand window(int64_t left, int64_t right) { return {1 - left, right}; }
};

inline int64_t minOf(int64_t a, int64_t b) { return std::min(a, b); }
inline int64_t maxOf(int64_t a, int64_t b) { return std::max(a, b); }

/// A half-open interval.
template <typename I> struct Interval {
  I begin, end;
};

/// The mask of one call: a band, the positions of row 0 and column 0, and the number of columns.
template <typename I> struct MaskQuery {
  MaskBand band;
  I rowStart, columnStart, columns;

  /// First column kept for row `r`, and one past the last, inside [0, columns].
  I firstColumn(I r) const {
    return band.lower ? moved(r + rowStart - columnStart, *band.lower, columns) : I(0);
  }
  I endColumn(I r) const {
    return band.upper ? moved(r + rowStart - columnStart, *band.upper, columns) : columns;
  }
  /// Rows before this one are at negative positions and attend to nothing.
  I firstRow() const { return maxOf(I(0), I(0) - rowStart); }

  /// What some row, and what every row, of [first, last] (both included) keeps. `full` is empty
  /// with begin > end where the rows share nothing.
  Interval<I> any(I first, I last) const { return {firstColumn(first), endColumn(last)}; }
  Interval<I> full(I first, I last) const { return {firstColumn(last), endColumn(first)}; }

  /// Rows of [0, rows) that keep some column of [begin, end).
  Interval<I> rowsTouching(I begin, I end, I rows) const {
    I low = firstRow(), high = rows;
    if (band.upper)
      low = maxOf(low, moved(begin + columnStart - rowStart, 1 - *band.upper, rows));
    if (band.lower)
      high = moved(end + columnStart - rowStart, -*band.lower, rows);
    return {minOf(low, rows), high};
  }

private:
  /// x + shift inside [0, limit]. Clamped before the addition, so that 32 bits suffice wherever x,
  /// the shift and the limit have them.
  static I moved(I x, int64_t shift, I limit) {
    if (shift <= 0)
      return minOf(limit, maxOf(x, I(-shift)) + I(shift));
    return maxOf(I(0), minOf(x, limit - I(shift)) + I(shift));
  }
};

} // namespace pe::math

#endif // PE_DIALECT_MATH_MASKINTERVALS_H
