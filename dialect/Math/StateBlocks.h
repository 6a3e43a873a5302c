//===- StateBlocks.h - The mask states that cover a block of pairs --------===//
//
// For a mask that is scalar code, the buffer of `tile.pairs states` has a state per
// block of ROWS x COLUMNS pairs, which its type states. Schedules use other block sizes, so a side
// of a scheduled block overlaps one or several states. It begins at a multiple of its size and ends
// at the last element.
//
// Example: of 200 columns with a state per 64, block 2 of size 48 is [96, 144) and overlaps states
// 1 and 2. Block 3 is [144, 192), entirely in state 2, so its second state repeats the first.
//
// Generic over a number type `I` with +, -, * and / (on nonnegative numbers) and minOf, like
// KeptPairs.h.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_STATEBLOCKS_H
#define PE_DIALECT_MATH_STATEBLOCKS_H

#include "dialect/Math/KeptPairs.h"

#include <cstdint>

namespace mlir::tile {

/// Returns the largest number of states, one per `block` elements, that a side of `size` elements
/// overlaps.
constexpr int64_t countStates(int64_t size, int64_t block) {
  return block % size == 0 ? 1 : size % block == 0 ? size / block : size / block + 2;
}

/// Returns the n-th state that [first, first + size) overlaps, or the last one if `n` is larger.
/// Only elements below `limit` exist. `first` is a multiple of `size` and below `limit`.
template <typename I>
I stateOf(const I &first, int64_t size, int64_t block, int64_t n, const I &limit) {
  const I last = minOf(first + I(size), limit) - I(1);
  return minOf(first / I(block) + I(n), last / I(block));
}

} // namespace mlir::tile

#endif // PE_DIALECT_MATH_STATEBLOCKS_H
