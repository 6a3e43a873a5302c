//===- Tensor.cpp - A typed n-dimensional array ---------------------------===//

#include "runtime/core/Tensor.h"

#include "runtime/core/BlockCache.h"
#include "runtime/core/StridedCopy.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <unistd.h>

namespace pe {

std::string toString(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Expected<int64_t> elementCount(const Shape &shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return makeError("expected dimensions of at least 0, found shape ", toString(shape));
    empty |= dim == 0;
  }
  for (int64_t dim : shape)
    if (!empty && __builtin_mul_overflow(count, dim, &count))
      return makeError("expected fewer than 2^63 elements, found shape ", toString(shape));
  return empty ? 0 : count;
}

Shape contiguousStrides(const Shape &shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    // Modulo 2^64: the strides of an empty tensor are never used.
    step = static_cast<int64_t>(static_cast<uint64_t>(step) *
                                static_cast<uint64_t>(shape[i] ? shape[i] : 1));
  }
  return strides;
}

namespace {

/// Allocates storage whose first byte is aligned to Tensor::kAlignment.
std::shared_ptr<void> allocateBytes(size_t bytes, bool zero, void *&first) {
  const size_t padded = bytes + Tensor::kAlignment;
  bool isFresh = false;
  void *block = padded < bytes ? nullptr : BlockCache::global().take(padded, isFresh);
  if (!block)
    return nullptr;
  if (zero && !isFresh)
    std::memset(block, 0, padded);
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  first = reinterpret_cast<void *>((address + Tensor::kAlignment - 1) & ~(Tensor::kAlignment - 1));
  return std::shared_ptr<void>(
      block, [padded](void *memory) { BlockCache::global().give(memory, padded); });
}

int64_t physicalMemory() {
  static const int64_t bytes = int64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return bytes;
}

} // namespace

static Expected<Tensor> allocateTensor(DType dtype, Shape shape, bool zero) {
  Expected<int64_t> count = elementCount(shape);
  if (!count)
    return count.takeError();
  int64_t bytes;
  if (__builtin_mul_overflow(*count, static_cast<int64_t>(sizeOf(dtype)), &bytes))
    return makeError("expected fewer than 2^63 bytes, found shape ", toString(shape), " of ",
                     nameOf(dtype));
  void *first = nullptr;
  std::shared_ptr<void> storage;
  // The system would grant more memory than it has and kill the process when the pages are touched.
  if (bytes <= physicalMemory())
    storage = allocateBytes(static_cast<size_t>(bytes), zero, first);
  if (!storage)
    return makeError("cannot allocate ", bytes, " bytes for shape ", toString(shape), " of ",
                     nameOf(dtype), "; this machine has ", physicalMemory());
  return Tensor::borrow(first, dtype, std::move(shape), {}, std::move(storage));
}

Expected<Tensor> Tensor::allocate(DType dtype, Shape shape) {
  return allocateTensor(dtype, std::move(shape), /*zero=*/false);
}

Expected<Tensor> Tensor::allocateZeros(DType dtype, Shape shape) {
  return allocateTensor(dtype, std::move(shape), /*zero=*/true);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Expected<Tensor> result = allocateZeros(dtype, std::move(shape));
  if (!result)
    throw std::bad_alloc();
  return *std::move(result);
}

Tensor Tensor::empty(DType dtype, Shape shape) {
  Expected<Tensor> result = allocate(dtype, std::move(shape));
  if (!result)
    throw std::bad_alloc();
  return *std::move(result);
}

Tensor Tensor::borrow(void *data, DType dtype, Shape shape, Shape strides,
                      std::shared_ptr<void> owner) {
  assert((strides.empty() || strides.size() == shape.size()) && "one stride per dimension");
  Tensor result;
  // Without an owner the caller keeps the memory alive; the storage only marks it as defined.
  result.storage = owner ? std::move(owner) : std::shared_ptr<void>(data, [](void *) {});
  result.first = data;
  result.type = dtype;
  result.steps = strides.empty() ? contiguousStrides(shape) : std::move(strides);
  result.dims = std::move(shape);
  return result;
}

int64_t Tensor::numel() const {
  // An empty tensor may have any other dimensions; their product may overflow.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return 0;
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

int64_t Tensor::offsetOf(std::initializer_list<int64_t> index) const {
  assert(index.size() == dims.size() && "one index per dimension");
  int64_t offset = 0;
  size_t axis = 0;
  for (int64_t i : index)
    offset += i * steps[axis++];
  return offset;
}

bool Tensor::isContiguous() const {
  if (numel() == 0)
    return true;
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && steps[i] != expected)
      return false;
    expected *= dims[i];
  }
  return true;
}

bool Tensor::isKernelReady() const {
  return isContiguous() && reinterpret_cast<uintptr_t>(first) % kAlignment == 0;
}

static void *advance(void *first, int64_t elements, DType dtype) {
  return static_cast<char *>(first) + elements * static_cast<int64_t>(sizeOf(dtype));
}

Tensor Tensor::slice(int64_t axis, int64_t begin, int64_t end) const {
  assert(axis >= 0 && axis < rank() && 0 <= begin && begin <= end && end <= dims[axis]);
  Tensor view = *this;
  view.first = advance(first, begin * steps[axis], type);
  view.dims[axis] = end - begin;
  return view;
}

Tensor Tensor::select(int64_t axis, int64_t index) const {
  Tensor view = slice(axis, index, index + 1);
  view.dims.erase(view.dims.begin() + axis);
  view.steps.erase(view.steps.begin() + axis);
  return view;
}

Tensor Tensor::permute(const std::vector<int64_t> &axes) const {
  assert(static_cast<int64_t>(axes.size()) == rank() && "one axis per dimension");
  Tensor view = *this;
  for (size_t i = 0; i < axes.size(); ++i) {
    view.dims[i] = dims[axes[i]];
    view.steps[i] = steps[axes[i]];
  }
  return view;
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  Tensor view = *this;
  std::swap(view.dims[a], view.dims[b]);
  std::swap(view.steps[a], view.steps[b]);
  return view;
}

Tensor Tensor::reshape(Shape shape) const {
  assert(isContiguous() && "reshape() needs a contiguous tensor; call contiguous() first");
  Tensor view = *this;
  view.steps = contiguousStrides(shape);
  view.dims = std::move(shape);
  assert(view.numel() == numel() && "reshape() keeps the number of elements");
  return view;
}

Tensor Tensor::contiguous() const { return isKernelReady() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor copy = empty(type, dims);
  copy.copyFrom(*this);
  return copy;
}

void Tensor::copyFrom(const Tensor &source) {
  assert(source.dims == dims && source.type == type && "copyFrom() needs equal shape and dtype");
  assert(rank() <= StridedCopy::kMaxRank && "tensors have at most 64 axes");
  StridedCopy copy(static_cast<int>(rank()), static_cast<int64_t>(sizeOf(type)));
  for (size_t axis = 0; axis < dims.size(); ++axis)
    copy.setAxis(static_cast<int>(axis), dims[axis], steps[axis], source.steps[axis]);
  const int64_t parts = copy.parts();
  for (int64_t part = 0; part < parts; ++part)
    copy.run(part, first, source.first);
}

} // namespace pe
