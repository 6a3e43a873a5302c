//===- Tensor.h - Operations on tensors -------------------------*- C++ -*-===//
//
// The class is public API (runtime/include/pe/Tensor.h). This header has the operations that the
// runtime, the reference and training share.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_TENSOR_H
#define PE_RUNTIME_CORE_TENSOR_H

#include "pe/Tensor.h"

namespace pe {

/// Returns the elements converted to `dtype`, contiguous. Converts between floating types, and
/// between integer types if every value fits; anything else is an error.
Expected<Tensor> convert(const Tensor &source, DType dtype);

/// Returns all elements as doubles in row-major order. Floating and integer types only.
Expected<std::vector<double>> toDoubles(const Tensor &source);

/// Returns the row-major strides of `shape`, in elements.
Shape contiguousStrides(const Shape &shape);

} // namespace pe

#endif // PE_RUNTIME_CORE_TENSOR_H
