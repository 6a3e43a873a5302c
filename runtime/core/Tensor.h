//===- Tensor.h - Operations on whole tensors -------------------*- C++ -*-===//
//
// The class is public API (runtime/include/pe/Tensor.h). Here are the operations the runtime,
// the reference and training share.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_TENSOR_H
#define PE_RUNTIME_CORE_TENSOR_H

#include "pe/Tensor.h"

namespace pe {

/// The elements converted to `dtype` (contiguous). Between floating types, and between integer
/// types when every value fits; anything else is an error.
Expected<Tensor> convert(const Tensor &source, DType dtype);

/// Every element as double, in row-major order (floating and integer types).
Expected<std::vector<double>> toDoubles(const Tensor &source);

/// Row-major strides of `shape`, in elements.
Shape contiguousStrides(const Shape &shape);

} // namespace pe

#endif // PE_RUNTIME_CORE_TENSOR_H
