//===- LoopOptions.h - Options of the lowering to loops ---------*- C++ -*-===//
//
// The lowering "loops" runs a block algorithm exactly as it is defined, with any block size and
// either outer loop. All choices give the same results up to rounding; the tests check this.
//
//===----------------------------------------------------------------------===//

#ifndef PE_LOOPOPTIONS_H
#define PE_LOOPOPTIONS_H

#include <cstdint>

namespace pe {

/// The options of the lowering.
struct LoopOptions {
  /// The outer loop. Auto: the one named by the stage's attribute `owner`, or queries if there is
  /// none.
  enum class Owner { Auto, Rows, Columns };

  /// Queries and keys per block.
  int64_t blockRows = 16;
  int64_t blockColumns = 16;
  Owner owner = Owner::Auto;
  /// Omit the blocks that the algorithm may omit, in the forward (stop) and the backward pass
  /// (skip). False: all blocks are computed.
  bool useStop = false;
  bool useSkip = false;

  bool operator==(const LoopOptions &) const = default;
};

} // namespace pe

#endif // PE_LOOPOPTIONS_H
