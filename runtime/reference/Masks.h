//===- Masks.h - Which keys a query may attend to ---------------*- C++ -*-===//
//
// A !pe.mask value as a small tree over global positions i (query) and j (key).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_MASKS_H
#define PE_RUNTIME_REFERENCE_MASKS_H

#include "runtime/reference/GraphBuilder.h"

#include <limits>
#include <vector>

namespace pe::reference {

struct Mask {
  enum class Kind : uint8_t { Window, Prefix, And, Or };
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  Kind kind = Kind::And; ///< an And of nothing allows everything
  /// A Window allows lowest <= i - j <= highest.
  int64_t lowest = -unlimited;
  int64_t highest = unlimited;
  /// A Prefix allows j < ends[batch entry].
  std::vector<double> ends;
  std::vector<Mask> parts;

  bool allows(int64_t batch, int64_t i, int64_t j) const;
  /// True if no key after its query is allowed, whatever the positions.
  bool isCausal() const;
};

/// The mask made by the value's operation.
Expected<Mask> buildMask(const Program &program, const Definitions &definitions,
                         const TensorValues &tensors, ValueId value);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_MASKS_H
