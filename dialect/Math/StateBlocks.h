//===- StateBlocks.h - which states of a mask concern a block of pairs ----===//
//
// What a mask that is scalar code comes to is known for blocks of 64 rows and 64 columns
// (`tile.pairs states`). Schedules have blocks of their own sizes, so a side of a scheduled block
// touches one state or several: it begins at a multiple of its size and ends at the last element.
//
// Example: of 200 columns, block 2 of 48 is [96, 144): states 1 and 2. Block 3 is [144, 192), all
// of it in state 2, and the second state that is looked at repeats the first.
//
// Generic over a number type `I` with +, -, * and / (on nonnegative numbers) and minOf, as
// KeptPairs.h is.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_STATEBLOCKS_H
#define PE_DIALECT_MATH_STATEBLOCKS_H

#include "dialect/Math/KeptPairs.h"

#include <cstdint>

namespace mlir::tile {

/// Rows and columns of a block whose state a buffer of `tile.pairs` holds.
constexpr int64_t kStateBlock = 64;

/// At most so many states concern a side of `size` elements.
constexpr int64_t countStates(int64_t size) {
  return kStateBlock % size == 0   ? 1
         : size % kStateBlock == 0 ? size / kStateBlock
                                   : size / kStateBlock + 2;
}

/// State number `n` of those that concern [first, first + size), of which the elements below
/// `limit` exist: `first` is a multiple of `size` and below `limit`.
template <typename I> I stateOf(const I &first, int64_t size, int64_t n, const I &limit) {
  const I last = minOf(first + I(size), limit) - I(1);
  return minOf(first / I(kStateBlock) + I(n), last / I(kStateBlock));
}

} // namespace mlir::tile

#endif // PE_DIALECT_MATH_STATEBLOCKS_H
