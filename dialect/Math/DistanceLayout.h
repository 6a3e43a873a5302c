//===- DistanceLayout.h - products with vectors of the distance -----------===//
//
// A block of rows and columns meets rows + columns - 1 distances; number n of them is that of the
// pairs with row - column = n - (columns - 1). Contractions with a vector per distance need a value
// over rows and columns by rows and numbers: row i's number n is its column i + columns - 1 - n.
// The same sum leads back, so both ways are one reflection along the row, that every row does on
// its own.
//
//   products [row, n] in registers -> pairs   window_dot; a lane takes what another one offers
//   pairs in shared memory -> [row, n]        window_sum, window_outer; read element by element
//
// In accumulators of mma.sync, tiles of 8 x 8 with g = lane / 4 and t = lane mod 4, the axis that
// is reflected is that of g or that of 2t + half, and the row is on the other one. With the row at
// f and a destination at x of their tiles, the source is at e = f + 7 - x, from 0 to 14: at e mod 8
// of a tile or of the next one. Every lane offers one register to exactly one lane.
//
// Example: columns = 16, row 3, column 5: number 3 + 15 - 5 = 13. Row 3 has f = 3, column 5 is x =
// 5 of tile 0, e = 5: with 16 columns that is tile (16 - 8) / 8 - 0 + 0 = 1, and 8 + 5 = 13.
//
// Generic over a number type `I` with + - * / % (on nonnegative numbers): int64_t in the tests,
// emitted arithmetic in passes/ToGPU.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_DISTANCELAYOUT_H
#define PE_DIALECT_MATH_DISTANCELAYOUT_H

#include <cstdint>

namespace pe::math {

/// Which axis of a tile is reflected: that of g, or that of 2t + half.
enum class ReflectedAxis { Lanes, Halves };

struct Reflection {
  ReflectedAxis axis;

  /// The tile along the axis that holds the source of a destination in tile `to`, of a row in tile
  /// `row`, both counted from the first of the block; the next tile where `isNext`.
  static int64_t tileOf(int64_t row, int64_t to, int64_t columns, bool isNext) {
    return row + (columns - 8) / 8 - to + isNext;
  }
  /// The lane that offers what this lane's destination in half `half` takes.
  template <typename I> I sourceLane(const I &lane, int64_t half) const {
    const I g = lane / I(4), t = lane % I(4);
    if (axis == ReflectedAxis::Lanes)
      return (t * I(2) + I(half + 7) - g + I(8)) % I(8) * I(4) + t;
    return g * I(4) + (g + I(15 - half) - t * I(2)) % I(8) / I(2);
  }
  /// The half of its registers that a lane offers to destinations in half `half`.
  template <typename I> I offeredHalf(const I &lane, int64_t half) const {
    if (axis == ReflectedAxis::Lanes)
      return I(half);
    return (lane / I(4) + I(7 - half)) % I(2);
  }
  /// A lane offers from the next tile where the first number is below the second one.
  template <typename I> I offeredPlace(const I &lane, int64_t half) const {
    if (axis == ReflectedAxis::Lanes)
      return lane / I(4);
    return lane % I(4) * I(2) + offeredHalf(lane, half);
  }
  template <typename I> I offeredRow(const I &lane, int64_t half) const {
    if (axis == ReflectedAxis::Lanes)
      return lane % I(4) * I(2) + I(half);
    return lane / I(4);
  }
};

/// Where numbers and pairs of a block meet.
struct DistanceBlock {
  int64_t rows, columns;

  /// Numbers, with the one behind the last, so that they are whole tiles.
  int64_t numbers() const { return rows + columns; }
  /// The column of a row's number, and the number of a row's column.
  template <typename I> I reflected(const I &row, const I &other) const {
    return row + I(columns - 1) - other;
  }
  /// The first of the 32 numbers that 16 rows from `row` and 16 columns from `column` meet.
  template <typename I> I firstOf(const I &row, const I &column) const {
    return row + I(columns - 16) - column;
  }
  /// Whether 16 rows from 16 * `row` meet a column at a number of the 16 from 16 * `number`: where
  /// this is from 0 to the columns' tiles.
  template <typename I> I behind(const I &row, const I &number) const { return number - row; }
  int64_t mostBehind() const { return columns / 16; }
};

} // namespace pe::math

#endif // PE_DIALECT_MATH_DISTANCELAYOUT_H
