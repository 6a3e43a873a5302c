//===- LoopOptions.h - Choices of the loops lowering ------------*- C++ -*-===//
//
// The loops lowering runs a block algorithm as it is defined, at any block size and with either
// outer loop. Every choice gives the same numbers up to rounding, which is what tests ask of it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_LOOPOPTIONS_H
#define PE_LOOPOPTIONS_H

#include <cstdint>

namespace pe {

struct LoopOptions {
  /// Which loop is the outer one; Auto: as a stage says (attribute `owner`), queries elsewhere.
  enum class Owner { Auto, Rows, Columns };

  /// Queries and keys per block.
  int64_t blockRows = 16;
  int64_t blockColumns = 16;
  Owner owner = Owner::Auto;
  /// Blocks that an algorithm allows to leave out, forward (stop) and backward (skip), are left
  /// out. They are computed otherwise.
  bool useStop = false;
  bool useSkip = false;

  bool operator==(const LoopOptions &) const = default;
};

} // namespace pe

#endif // PE_LOOPOPTIONS_H
