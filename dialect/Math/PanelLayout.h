//===- PanelLayout.h - Swizzled rows of 16-byte chunks --------------------===//
//
// A panel is a block of rows in shared memory, in chunks of 16 bytes. Chunk i of row p is stored at
// i ^ swizzle(p). A chunk of eight adjacent rows, which ldmatrix reads at once, is then in
// different banks. The swizzle stays within the row, whose pitch is a power of two below eight
// chunks and a multiple of eight above.
//
//   rows of 64 bytes (4 chunks), two rows to 128 bytes of banks: swizzle(p) = p / 2 mod 4
//   rows of 128 bytes and more:                                  swizzle(p) = p mod 8
//
// A padded panel is not swizzled: its rows have an odd number of chunks, which has the same effect
// for ldmatrix. The offset of an element is linear in row and column, so that elements along a
// diagonal have constant distances.
//
// Example: for f32 and depth 16, chunk 1 of row 5 is stored at chunk 1 ^ 2 = 3 of its row, byte
// 5*64 + 48.
//
// Generic over a number type `I` with + - * / % and ^: int64_t in the tests, emitted arithmetic in
// passes/ToGPU.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_PANELLAYOUT_H
#define PE_DIALECT_MATH_PANELLAYOUT_H

#include <algorithm>
#include <bit>
#include <cstdint>

namespace pe::math {

/// A byte offset whose compile-time parts are applied last, so that an access costs one exclusive
/// or and no constant occupies a register across a loop.
template <typename I> struct ChunkOffset {
  I bytes;
  int64_t flipped = 0; // bits, applied to the sum of `bytes` and the panel's offset
  int64_t behind = 0;  // bytes, added at the end

  /// Returns the complete offset in a panel at `start`, a multiple of `swizzled()` chunks.
  I at(const I &start) const { return ((bytes + start) ^ I(flipped)) + I(behind); }
};

struct PanelLayout {
  int64_t rows = 0, depth = 0, elementBytes = 4;
  bool isPadded = false;

  int64_t perChunk() const { return 16 / elementBytes; }
  /// Chunks per row, padded to 16 elements.
  int64_t chunks() const { return (depth + 15) / 16 * 16 / perChunk(); }
  /// Bytes per row.
  int64_t pitch() const {
    const auto count = static_cast<uint64_t>(chunks());
    if (isPadded)
      return static_cast<int64_t>(count | 1) * 16;
    return static_cast<int64_t>(count <= 8 ? std::bit_ceil(count) : (count + 7) / 8 * 8) * 16;
  }
  int64_t bytes() const { return rows * pitch(); }
  /// Chunks that the swizzle permutes.
  int64_t swizzled() const { return isPadded ? 1 : std::min<int64_t>(8, pitch() / 16); }
  template <typename I> I swizzleOf(const I &row) const {
    if (isPadded)
      return I(0);
    return row / I(8 / swizzled()) % I(swizzled());
  }

  /// Returns the offset of chunk `chunkConstant + chunk` (which have no common bits) of row
  /// `rowConstant + row` (`rowConstant` is a multiple of 8) of copy `copy`.
  template <typename I>
  ChunkOffset<I> offsetOf(int64_t rowConstant, const I &row, int64_t chunkConstant, const I &chunk,
                          const I &copy) const {
    const int64_t low = chunkConstant % swizzled();
    const I swizzle = swizzleOf(row);
    return {row * I(pitch()) + copy * I(bytes()) + (chunk ^ swizzle) * I(16), low * 16,
            rowConstant * pitch() + (chunkConstant - low) * 16};
  }
};

} // namespace pe::math

#endif // PE_DIALECT_MATH_PANELLAYOUT_H
