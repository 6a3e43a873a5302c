//===- LoopOptions.h - Choices of the loops lowering ------------*- C++ -*-===//
//
// The loops lowering runs a block algorithm as it is defined, at any block size and with either
// outer loop. Every choice gives the same numbers up to rounding, which the tests check.
//
//===----------------------------------------------------------------------===//

#ifndef PE_LOOPOPTIONS_H
#define PE_LOOPOPTIONS_H

#include <cstdint>

namespace pe {

struct LoopOptions {
  /// Which loop is the outer one; Auto: the stage's attribute `owner`, else queries.
  enum class Owner { Auto, Rows, Columns };

  /// Queries and keys per block.
  int64_t blockRows = 16;
  int64_t blockColumns = 16;
  Owner owner = Owner::Auto;
  /// Whether the blocks that an algorithm may leave out, forward (stop) and backward (skip), are
  /// left out or computed.
  bool useStop = false;
  bool useSkip = false;

  bool operator==(const LoopOptions &) const = default;
};

} // namespace pe

#endif // PE_LOOPOPTIONS_H
