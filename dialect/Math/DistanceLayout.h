//===- DistanceLayout.h - Products with vectors of the distance -----------===//
//
// A block of rows and columns has rows + columns - 1 distances. Distance number n belongs to the
// pairs with row - column = n - (columns - 1). Contractions with a vector per distance index a
// value by row and distance number instead of by row and column: in row i, distance number n is
// column i + columns - 1 - n. This map is its own inverse: both directions are a reflection within
// each row.
//
//   products [row, n] in registers -> pairs   window_dot; each lane receives from another lane
//   pairs in shared memory -> [row, n]        window_sum, window_outer; read element by element
//
// The accumulators of mma.sync are tiles of 8 x 8 with g = lane / 4 and t = lane mod 4. The
// reflected axis is indexed by g or by 2t + half, and the row is on the other axis. For a row at
// offset f and a destination at offset x within their tiles, the source is at e = f + 7 - x, which
// is from 0 to 14: offset e mod 8 of one tile or of the next. Every lane sends one register to
// exactly one lane.
//
// Example: columns = 16, row 3, column 5: number 3 + 15 - 5 = 13. Row 3 has f = 3, column 5 is x =
// 5 of tile 0, and e = 5. With 16 columns that is tile (16 - 8) / 8 - 0 + 0 = 1, and 8 + 5 = 13.
//
// Generic over a number type `I` with + - * / % (on nonnegative numbers): int64_t in the tests,
// emitted arithmetic in passes/ToGPU.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_DISTANCELAYOUT_H
#define PE_DIALECT_MATH_DISTANCELAYOUT_H

#include <cstdint>

namespace pe::math {

/// The reflected axis of a tile, which is indexed by g (Lanes) or by 2t + half (Halves).
enum class ReflectedAxis { Lanes, Halves };

struct Reflection {
  ReflectedAxis axis;

  /// Returns the tile, along the axis, of the source for a destination in tile `to` and a row in
  /// tile `row`, both counted from the first tile of the block; the next tile if `isNext`.
  static int64_t tileOf(int64_t row, int64_t to, int64_t columns, bool isNext) {
    return row + (columns - 8) / 8 - to + isNext;
  }
  /// Returns the lane that sends the value for this lane's destination in half `half`.
  template <typename I> I sourceLane(const I &lane, int64_t half) const {
    const I g = lane / I(4), t = lane % I(4);
    if (axis == ReflectedAxis::Lanes)
      return (t * I(2) + I(half + 7) - g + I(8)) % I(8) * I(4) + t;
    return g * I(4) + (g + I(15 - half) - t * I(2)) % I(8) / I(2);
  }
  /// Returns the half of its registers that a lane sends to destinations in half `half`.
  template <typename I> I offeredHalf(const I &lane, int64_t half) const {
    if (axis == ReflectedAxis::Lanes)
      return I(half);
    return (lane / I(4) + I(7 - half)) % I(2);
  }
  /// Return the positions that a lane compares: it sends from the next tile if offeredPlace is less
  /// than offeredRow.
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

/// The distance numbers of a block of pairs.
struct DistanceBlock {
  int64_t rows, columns;

  /// Returns the number of distances plus one. The extra entry makes them fill entire tiles.
  int64_t numbers() const { return rows + columns; }
  /// Returns the column of a row's distance number, or the distance number of a row's column.
  template <typename I> I reflected(const I &row, const I &other) const {
    return row + I(columns - 1) - other;
  }
  /// Returns the first of the 32 distance numbers of 16 rows from `row` and 16 columns from
  /// `column`.
  template <typename I> I firstOf(const I &row, const I &column) const {
    return row + I(columns - 16) - column;
  }
  /// Returns the offset, in tiles of 16, of the distance numbers at 16 * `number` from the rows at
  /// 16 * `row`. These rows have a column at one of the 16 numbers if it is in [0, mostBehind()].
  template <typename I> I behind(const I &row, const I &number) const { return number - row; }
  int64_t mostBehind() const { return columns / 16; }
};

} // namespace pe::math

#endif // PE_DIALECT_MATH_DISTANCELAYOUT_H
