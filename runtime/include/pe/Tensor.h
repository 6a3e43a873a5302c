//===- Tensor.h - A typed n-dimensional array -------------------*- C++ -*-===//
//
// A Tensor is a view (shape, strides in elements, offset) on shared storage. Fresh storage is
// contiguous, row-major and 64-byte aligned, as compiled stages require. Views share the storage
// and keep it alive. Copying a Tensor copies the view; `clone` copies the elements.
//
//   Tensor x = Tensor::zeros(DType::F32, {2, 3});
//   x.data<float>()[x.offsetOf({1, 2})] = 7;
//   Tensor column = x.slice(1, 2, 3);          // shape [2, 1], strides [3, 1], same storage
//   Tensor packed = column.contiguous();       // its own storage
//
//===----------------------------------------------------------------------===//

#ifndef PE_TENSOR_H
#define PE_TENSOR_H

#include "pe/DType.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pe {

using Shape = std::vector<int64_t>;

/// Formats a shape: "[2, 3]".
std::string toString(const Shape &shape);
/// Returns the number of elements, or an error if a dimension is negative or the product overflows.
Expected<int64_t> elementCount(const Shape &shape);

/// A view (shape, strides, offset) on shared storage. Indices and axes must be in range.
class Tensor {
public:
  /// The alignment of allocated storage in bytes.
  static constexpr size_t kAlignment = 64;

  /// Makes a tensor without storage; isDefined() is false.
  Tensor() = default;

  /// Returns an uninitialised contiguous tensor. For shapes from outside the program: a shape that
  /// is negative, overflows or cannot be allocated is an error.
  static Expected<Tensor> allocate(DType dtype, Shape shape);
  /// Same as allocate, with all bytes zero.
  static Expected<Tensor> allocateZeros(DType dtype, Shape shape);
  /// Same as allocateZeros and allocate, for shapes made by the program itself: they throw
  /// std::bad_alloc if allocation fails.
  static Tensor zeros(DType dtype, Shape shape);
  static Tensor empty(DType dtype, Shape shape);
  /// Returns a view on the caller's memory, which `owner` (may be null) keeps alive. Empty
  /// `strides` mean contiguous.
  static Tensor borrow(void *data, DType dtype, Shape shape, Shape strides = {},
                       std::shared_ptr<void> owner = nullptr);
  /// Returns a copy of `values`, one-dimensional or of shape `shape`.
  template <typename T> static Tensor of(const std::vector<T> &values, Shape shape);
  /// Returns a tensor of rank 0.
  template <typename T> static Tensor scalar(T value) { return of(std::vector<T>{value}, Shape{}); }

  bool isDefined() const { return storage != nullptr; }
  DType dtype() const { return type; }
  const Shape &shape() const { return dims; }
  /// In elements.
  const Shape &strides() const { return steps; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t dim(int64_t axis) const { return dims[axis]; }
  /// The number of elements.
  int64_t numel() const;
  /// The size in bytes of numel() elements (not the span of a strided view).
  size_t byteSize() const { return static_cast<size_t>(numel()) * sizeOf(type); }

  /// The address of the first element, for any strides.
  void *rawData() { return first; }
  const void *rawData() const { return first; }
  /// Same as rawData; T must be the element type.
  template <typename T> T *data() {
    assert(dtypeOf<T>() == type && "element type differs from the tensor's dtype");
    return static_cast<T *>(first);
  }
  template <typename T> const T *data() const { return const_cast<Tensor *>(this)->data<T>(); }
  /// All elements in row-major order; the tensor must be contiguous.
  template <typename T> std::span<T> values() {
    assert(isContiguous() && "values() needs a contiguous tensor; call contiguous() first");
    return {data<T>(), static_cast<size_t>(numel())};
  }
  template <typename T> std::span<const T> values() const {
    return const_cast<Tensor *>(this)->values<T>();
  }
  /// The offset of an element from data(), in elements.
  int64_t offsetOf(std::initializer_list<int64_t> index) const;

  /// Returns true if the elements are packed in row-major order.
  bool isContiguous() const;
  /// Returns true if a compiled stage can use it in place: contiguous and 64-byte aligned.
  bool isKernelReady() const;

  // Views. Axes count from 0. `reshape` requires a contiguous tensor and keeps the element count.
  /// Keeps the elements [begin, end) of `axis`.
  Tensor slice(int64_t axis, int64_t begin, int64_t end) const;
  /// Removes `axis`, keeping its element `index`.
  Tensor select(int64_t axis, int64_t index) const;
  /// Axis i of the result is axis axes[i] of this tensor.
  Tensor permute(const std::vector<int64_t> &axes) const;
  /// Swaps two axes.
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor reshape(Shape shape) const;

  // Copies.
  /// Returns this tensor if it is contiguous and aligned, otherwise a packed copy.
  Tensor contiguous() const;
  /// Returns a packed copy.
  Tensor clone() const;
  /// Copies the elements of `source` (same shape and dtype, any strides) into this tensor.
  void copyFrom(const Tensor &source);

private:
  std::shared_ptr<void> storage;
  void *first = nullptr;
  DType type = DType::F32;
  Shape dims;
  Shape steps;
};

/// Tensors by name, sorted by name: the arguments or the results of a call.
using TensorMap = std::map<std::string, Tensor>;

template <typename T> Tensor Tensor::of(const std::vector<T> &values, Shape shape) {
  Tensor result = empty(dtypeOf<T>(), std::move(shape));
  assert(static_cast<size_t>(result.numel()) == values.size() && "shape does not fit the values");
  std::copy(values.begin(), values.end(), result.template data<T>());
  return result;
}

} // namespace pe

#endif // PE_TENSOR_H
