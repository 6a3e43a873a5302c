//===- Rotations.h - Rotary embedding of queries and keys -------*- C++ -*-===//
//
// For a row at position p, each pair (x_a, x_b) of coordinates is rotated by the angle p *
// frequency. The transposed rotation maps gradients back.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ROTATIONS_H
#define PE_RUNTIME_REFERENCE_ROTATIONS_H

#include "runtime/reference/GraphBuilder.h"

#include <vector>

namespace pe::reference {

struct Rotation {
  struct Pair {
    int64_t first;
    int64_t second;
    double frequency;
  };
  std::vector<Pair> pairs;

  /// Rotates one row of head-dim elements by its angles at `position`, in place.
  void apply(double *row, int64_t position) const;
  /// Rotates it back.
  void applyTransposed(double *row, int64_t position) const;
};

/// The rotation made by the value's operation, for rows of `headDim` elements.
Expected<Rotation> buildRotation(const Definitions &definitions, ValueId value, int64_t headDim);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROTATIONS_H
