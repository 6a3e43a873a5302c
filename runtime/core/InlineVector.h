//===- InlineVector.h - Short lists without allocation ----------*- C++ -*-===//
//
// A vector of trivial values whose size is fixed at construction. Up to N values are stored in the
// object itself, so that a call of a compiled function allocates nothing; more are on the heap.
//
//   InlineVector<int64_t, 8> strides(rank);        // zeros
//   strides[0] = 1;
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_INLINEVECTOR_H
#define PE_RUNTIME_CORE_INLINEVECTOR_H

#include <cassert>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace pe {

/// A vector with inline storage for N values.
template <typename T, size_t N> class InlineVector {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

public:
  InlineVector() = default;
  explicit InlineVector(size_t size) { reset(size); }
  InlineVector(const InlineVector &) = delete;
  InlineVector &operator=(const InlineVector &) = delete;

  /// Resizes to `size` values, each T().
  void reset(size_t size) {
    if (size > N && size > capacity) {
      heap = std::make_unique<T[]>(size);
      capacity = size;
    }
    first = size > N ? heap.get() : inside;
    count = size;
    for (T &value : *this)
      value = T();
  }

  size_t size() const { return count; }
  T *data() { return first; }
  const T *data() const { return first; }
  T *begin() { return first; }
  T *end() { return first + count; }
  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  T &operator[](size_t i) {
    assert(i < count);
    return first[i];
  }
  const T &operator[](size_t i) const {
    assert(i < count);
    return first[i];
  }

private:
  T inside[N];
  std::unique_ptr<T[]> heap;
  size_t capacity = 0;
  T *first = inside;
  size_t count = 0;
};

} // namespace pe

#endif // PE_RUNTIME_CORE_INLINEVECTOR_H
