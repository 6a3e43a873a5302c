//===- CArguments.h - Arguments of the C API --------------------*- C++ -*-===//
//
// Converts lists, versioned structs, scalars and views of pe-c.h to C++ values. Everything is
// checked before it is read. Messages use the argument names of pe-c.h.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_API_CARGUMENTS_H
#define PE_RUNTIME_API_CARGUMENTS_H

#include "pe/pe-c.h"
#include "runtime/core/Tensor.h"
#include "runtime/plan/Frame.h"

#include <cstring>
#include <span>

namespace pe::api {

inline Error missing(const char *argument) {
  return makeError("argument '", argument, "': expected an address, found none");
}

/// Checks a list, which may be empty.
template <typename T> Status checkList(const T *list, int32_t count, const char *what) {
  if (count < 0 || (count && !list))
    return makeError("expected a list of ", what, ", found ", list ? "" : "no list and ",
                     "a count of ", count);
  return Status::success();
}
template <typename T> std::span<const T> listOf(const T *list, int32_t count) {
  return {list, static_cast<size_t>(count)};
}

/// Reads a struct whose first member is the size that the caller was compiled with. Members past
/// that size are zero.
template <typename T> Status readVersioned(const T *given, const char *what, T &known) {
  std::memset(&known, 0, sizeof(T));
  if (!given)
    return Status::success();
  if (given->size < sizeof(uint64_t) || given->size > sizeof(T))
    return makeError("argument '", what, "': expected a size of ", sizeof(T),
                     " bytes at most, which is sizeof(pe_", what, "), found ", given->size);
  std::memcpy(&known, given, given->size);
  return Status::success();
}

/// Reads scalars by name and rejects duplicates. The call checks that the function has them.
Status readScalars(const pe_scalar *given, int32_t count, plan::Scalars &scalars);

/// Returns tensors that use the memory of the views, by name.
Expected<TensorMap> tensorsOf(const pe_view *list, int32_t count);

} // namespace pe::api

#endif // PE_RUNTIME_API_CARGUMENTS_H
