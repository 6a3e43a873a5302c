//===- Positions.h - Global positions of the rows of a call -----*- C++ -*-===//
//
// Positions and heads are global: a call on some of the queries, keys or heads states where they
// start and computes the same values as the unsharded call. Positions are in [-2^30, 2^30); a call
// with others is an error.
//
//===----------------------------------------------------------------------===//

#ifndef PE_POSITIONS_H
#define PE_POSITIONS_H

#include <cstdint>
#include <optional>

namespace pe {

/// The global positions of a call.
struct Positions {
  /// Position of query row 0. Defaults to keyStart + Sk - Sq, which aligns the last query with the
  /// last key. Rows at negative positions attend to no key.
  std::optional<int64_t> queryStart;
  /// Position of key column 0.
  int64_t keyStart = 0;
  /// Global index of this call's first query head.
  int64_t headStart = 0;
  /// Number of query heads in the model. Defaults to those of this call.
  std::optional<int64_t> headsTotal;
};

} // namespace pe

#endif // PE_POSITIONS_H
