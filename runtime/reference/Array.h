//===- Array.h - A dense float64 array --------------------------*- C++ -*-===//
//
// The arrays of the reference: a shape and its elements in row-major order, always double.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ARRAY_H
#define PE_RUNTIME_REFERENCE_ARRAY_H

#include "runtime/core/Tensor.h"

#include <vector>

namespace pe::reference {

/// A dense array in row-major order.
struct Array {
  Shape shape;
  std::vector<double> data;

  static Array zeros(Shape shape) {
    int64_t count = 1;
    for (int64_t dim : shape)
      count *= dim;
    return {std::move(shape), std::vector<double>(static_cast<size_t>(count), 0.0)};
  }

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t dim(size_t axis) const { return shape[axis]; }
};

/// Adds the elements of `source` from `offset` on to `target`.
inline void addTo(Array &target, const std::vector<double> &source, size_t offset = 0) {
  for (size_t e = 0; e < target.data.size(); ++e)
    target.data[e] += source[offset + e];
}

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ARRAY_H
