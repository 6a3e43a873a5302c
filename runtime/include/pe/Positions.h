//===- Positions.h - Where a call lies in the whole -------------*- C++ -*-===//
//
// Positions and heads are global: a call that holds only some queries, keys or heads says where
// they start, and gets the same numbers as the unsharded call. Positions lie in [-2^30, 2^30); a
// call that reaches beyond is refused.
//
//===----------------------------------------------------------------------===//

#ifndef PE_POSITIONS_H
#define PE_POSITIONS_H

#include <cstdint>
#include <optional>

namespace pe {

struct Positions {
  /// Position of query row 0; by default key_start + Sk - Sq, so that the last query aligns with
  /// the last key. Rows at negative positions attend to nothing.
  std::optional<int64_t> queryStart;
  /// Position of key column 0.
  int64_t keyStart = 0;
  /// Global index of this call's first query head.
  int64_t headStart = 0;
  /// Number of heads in the model; by default that of this call.
  std::optional<int64_t> headsTotal;
};

} // namespace pe

#endif // PE_POSITIONS_H
