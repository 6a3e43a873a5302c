//===- FragmentLayout.h - The layout of matrix fragments in registers -----===//
//
// A GPU kernel keeps a block of pairs, with its vectors and panels, in the accumulator layout of
// mma.sync. One side of the pairs is the owner, the other is inner. A warp holds `ownerTiles` tiles
// of 16 owners and the entire inner block. With g = lane / 4 and t = lane mod 4:
//
//   kind         registers of a lane
//   Pair         4 per 16 x 8 tile: owners g, g + 8; inner 2t, 2t + 1
//   Owner        2 per tile: owners g, g + 8, the same in the four lanes of a quad
//   Inner        2 per 8: inner 2t, 2t + 1, the same in lanes of equal t
//   OwnerPanel   4 per 16 x 8 tile of owners x depth
//   InnerPanel   4 per 16 x 8 tile of inner x depth, tiles divided among the warps
//   One          1: a single number, the same in all lanes
//
// If a stage scans along the inner side, its block is permuted so that a lane holds contiguous
// elements: lane t holds inner [t * n, (t + 1) * n), where n is a quarter of the block.
//
// Generic over a number type `I` with + - * / % (on nonnegative numbers): int64_t in the tests,
// emitted arithmetic in passes/ToGPU.
//
// Example: a permuted block of 16 inner elements has n = 4. Inner 5 is element 1 of lane t = 1. It
// is stored at the position of inner 2t + 1 = 3 without the permutation: standing(5) == 3.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_FRAGMENTLAYOUT_H
#define PE_DIALECT_MATH_FRAGMENTLAYOUT_H

#include <algorithm>
#include <cstdint>

namespace pe::math {

/// The position of a register of a fragment.
struct FragmentElement {
  int ownerTile = 0, ownerHalf = 0; // owner = tile * 16 + half * 8 + g
  int innerTile = 0, innerHalf = 0; // inner = tile * 8 + 2t + half, or permuted
  int depthTile = 0, depthHalf = 0; // depth = tile * 8 + 2t + half
};

enum class FragmentKind { One, Pair, Owner, Inner, OwnerPanel, InnerPanel };

struct FragmentLayout {
  int64_t ownerTiles = 1, innerBlock = 16, warps = 1;
  bool isPermuted = false;

  int64_t innerTiles() const { return innerBlock / 8; }
  /// Return, for an inner panel, the number of tiles of 16 that a warp accumulates and the number
  /// of parts into which the depth of a tile is split if there are more warps than tiles.
  int64_t foldTiles() const { return std::max<int64_t>(1, innerBlock / 16 / warps); }
  int64_t foldParts() const { return std::max<int64_t>(1, warps * 16 / innerBlock); }
  int64_t foldDepthTiles(int64_t depth) const {
    return (depth / 8 + foldParts() - 1) / foldParts();
  }

  //===- Registers -------------------------------------------------------------------===//

  /// Returns the number of registers per lane; only panels use `depth`.
  int64_t registersOf(FragmentKind kind, int64_t depth = 0) const {
    switch (kind) {
    case FragmentKind::One:
      return 1;
    case FragmentKind::Pair:
      return ownerTiles * innerTiles() * 4;
    case FragmentKind::Owner:
      return ownerTiles * 2;
    case FragmentKind::Inner:
      return innerTiles() * 2;
    case FragmentKind::OwnerPanel:
      return ownerTiles * (depth / 8) * 4;
    case FragmentKind::InnerPanel:
      return foldTiles() * foldDepthTiles(depth) * 4;
    }
    return 0;
  }

  /// Returns the position of register `index`. The rows of an inner panel form tiles of 16, like
  /// the rows of an owner panel.
  FragmentElement elementAt(FragmentKind kind, int64_t index, int64_t depth = 0) const {
    FragmentElement at;
    const int tile = static_cast<int>(index / 4), half = index / 2 % 2, low = index % 2;
    switch (kind) {
    case FragmentKind::One:
      break;
    case FragmentKind::Owner:
      at.ownerTile = static_cast<int>(index / 2), at.ownerHalf = low;
      break;
    case FragmentKind::Inner:
      at.innerTile = static_cast<int>(index / 2), at.innerHalf = low;
      break;
    case FragmentKind::Pair:
      at.ownerTile = tile / innerTiles(), at.ownerHalf = half;
      at.innerTile = tile % innerTiles(), at.innerHalf = low;
      break;
    case FragmentKind::OwnerPanel:
    case FragmentKind::InnerPanel:
      at.ownerTile = tile / across(kind, depth), at.ownerHalf = half;
      at.depthTile = tile % across(kind, depth), at.depthHalf = low;
      break;
    }
    return at;
  }

  /// Returns the register at a position, the inverse of elementAt. Ignores fields of `at` that the
  /// kind does not use.
  int64_t indexOf(FragmentKind kind, const FragmentElement &at, int64_t depth = 0) const {
    switch (kind) {
    case FragmentKind::One:
      break;
    case FragmentKind::Owner:
      return at.ownerTile * 2 + at.ownerHalf;
    case FragmentKind::Inner:
      return at.innerTile * 2 + at.innerHalf;
    case FragmentKind::Pair:
      return (at.ownerTile * innerTiles() + at.innerTile) * 4 + at.ownerHalf * 2 + at.innerHalf;
    case FragmentKind::OwnerPanel:
    case FragmentKind::InnerPanel:
      return (at.ownerTile * across(kind, depth) + at.depthTile) * 4 + at.ownerHalf * 2 +
             at.depthHalf;
    }
    return 0;
  }

  //===- Positions -------------------------------------------------------------------===//

  /// Returns the owner of an element, counted from `base`.
  template <typename I>
  I ownerAt(const I &base, const I &warp, const I &g, const FragmentElement &at) const {
    return base + warp * I(ownerTiles * 16) + g + I(at.ownerTile * 16 + at.ownerHalf * 8);
  }
  /// Returns the inner index of an element within the block.
  template <typename I> I innerAt(const I &t, const FragmentElement &at) const {
    if (isPermuted)
      return t * I(2 * innerTiles()) + I(at.innerTile * 2 + at.innerHalf);
    return t * I(2) + I(at.innerTile * 8 + at.innerHalf);
  }
  /// Returns the position of inner `logical` of the block in shared memory and in the fragments.
  template <typename I> I standing(const I &logical) const {
    if (!isPermuted)
      return logical;
    const I perLane(2 * innerTiles());
    const I within = logical % perLane;
    return within / I(2) * I(8) + logical / perLane * I(2) + within % I(2);
  }
  /// Returns the inner index of an element of an inner panel, counted from `base`. If there are
  /// more warps than tiles, warps share a tile and split its depth.
  template <typename I>
  I foldedInnerAt(const I &base, const I &warp, const I &g, const FragmentElement &at) const {
    const I place = (foldedTile(warp) + I(at.ownerTile)) * I(16) + g + I(at.ownerHalf * 8);
    if (!isPermuted)
      return base + place;
    // The inverse of `standing`.
    const I inTile = place % I(8);
    return base + inTile / I(2) * I(2 * innerTiles()) + place / I(8) * I(2) + inTile % I(2);
  }
  /// Returns the first tile of 16 inner elements that the warp accumulates.
  template <typename I> I foldedTile(const I &warp) const {
    return foldParts() > 1 ? warp / I(foldParts()) : warp * I(foldTiles());
  }
  /// Returns the tile of 8 depths of an element of an inner panel.
  template <typename I>
  I foldedDepthTile(const I &warp, const FragmentElement &at, int64_t depth) const {
    if (foldParts() == 1)
      return I(at.depthTile);
    return warp % I(foldParts()) * I(foldDepthTiles(depth)) + I(at.depthTile);
  }

private:
  /// Returns the number of depth tiles that a warp holds per row tile.
  int64_t across(FragmentKind kind, int64_t depth) const {
    return kind == FragmentKind::OwnerPanel ? depth / 8 : foldDepthTiles(depth);
  }
};

//===- ldmatrix ------------------------------------------------------------------------===//

/// The 16-byte row of a panel whose address a lane supplies: a row and a chunk of eight elements.
template <typename I> struct MatrixRow {
  I row, chunk;
};

/// Returns the row of a lane for a fragment A[16][16], row-major, from row `first` on.
template <typename I> MatrixRow<I> rowOfLeft(const I &lane, const I &first) {
  return {first + lane % I(16), lane / I(16)};
}
/// Same as above for a fragment A[m][k] that is transposed from rows over k. The index m begins at
/// element `first`.
template <typename I> MatrixRow<I> rowOfLeftTransposed(const I &lane, const I &first) {
  return {lane % I(8) + lane / I(16) * I(8), first / I(8) + lane / I(8) % I(2)};
}
/// Same as above for two fragments B[k][n], n in [0, 16), from rows over n.
template <typename I> MatrixRow<I> rowOfRight(const I &lane) {
  return {lane % I(8) + lane / I(16) * I(8), lane / I(8) % I(2)};
}
/// Same as above for two fragments B[k][n] that are transposed from rows over k. The index n begins
/// at chunk `first`.
template <typename I> MatrixRow<I> rowOfRightTransposed(const I &lane, const I &first) {
  return {lane % I(8) + lane / I(8) % I(2) * I(8), first + lane / I(16)};
}

//===- Sums along diagonals --------------------------------------------------------------===//

/// The table [diagonal][8] of one warp. The difference inner - owner of a pair, relative to the
/// first owner of the warp, is 8 k + c - g, where k depends on the tiles of the register, and c =
/// 2t + half and g on the lane. Row d of the table, counted from the smallest difference, holds the
/// pairs with 8 k + c - g = d - least, those of g at column g, so that no two lanes write to the
/// same element. In every second group of four rows, columns are exchanged (g with g ^ 5): the
/// lanes of a warp then write to different banks, and eight threads read eight rows, 16 bytes each,
/// without a conflict.
///
/// The table of the last warp comes first. Diagonal n of the block is then row n + j * step() for
/// the j-th table, which is a row of another table if that warp does not meet it:
///
///   warps of 2 owners, inner block 2:  a0 a1 a2 | b2 b3 b4           (j = 0 is warp 1)
///   diagonal 2 of 5 is met by both:          ^    ^ rows 2 and 3
struct SkewedTable {
  int64_t warps, ownerTiles, innerBlock;

  int64_t rows() const { return innerBlock + ownerTiles * 16 - 1; }
  int64_t diagonals() const { return innerBlock + warps * ownerTiles * 16 - 1; }
  int64_t step() const { return innerBlock - 1; }
  /// Returns the number of diagonals of the block before those of the j-th table.
  int64_t before(int64_t j) const { return j * ownerTiles * 16; }
  /// Returns the negated smallest difference.
  int64_t least() const { return ownerTiles * 16 - 1; }
  /// Returns the offset of the lane's element (k = 0, half) in the table of warp `warp`.
  template <typename I> I placeOf(const I &warp, const I &g, const I &t, int half) const {
    const I row = t * I(2) - g + I(least() + half);
    const I table = (I(warps - 1) - warp) * I(rows() * 8);
    return table + row * I(8) + (g ^ row / I(4) % I(2) * I(5));
  }
  /// Returns the offset of the four elements in the lower or upper half of the columns of a row.
  template <typename I> static I chunkOf(const I &row, int half) {
    return row * I(8) + ((row / I(4) % I(2)) ^ I(half)) * I(4);
  }
  /// tileOf returns the k of an element; distanceOf its offset from the element with k = 0.
  static int tileOf(const FragmentElement &at) {
    return at.innerTile - 2 * at.ownerTile - at.ownerHalf;
  }
  static int64_t distanceOf(int tile) { return tile * 64; }
  /// Returns the number of sums along diagonals of a lane. Sum n belongs to the elements with k =
  /// n / 2 - tilesBefore() and half = n % 2; numberOf is the inverse.
  int64_t sums() const { return (innerBlock / 8 + tilesBefore()) * 2; }
  int64_t tilesBefore() const { return 2 * ownerTiles - 1; }
  int64_t numberOf(const FragmentElement &at) const {
    return (tileOf(at) + tilesBefore()) * 2 + at.innerHalf;
  }
  /// Returns the number of the diagonal with the difference `apart` from the block's first owner.
  template <typename I> I diagonalOf(const I &apart) const {
    return apart + I(warps * ownerTiles * 16 - 1);
  }
};

} // namespace pe::math

#endif // PE_DIALECT_MATH_FRAGMENTLAYOUT_H
