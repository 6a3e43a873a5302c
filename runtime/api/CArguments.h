//===- CArguments.h - What C programs give, checked -------------*- C++ -*-===//
//
// Lists, versioned structs, scalars and views of pe-c.h as C++ values. Everything is checked before
// it is read; messages name the argument as pe-c.h does.
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

/// A list of `count` elements, which may be none.
template <typename T> Status checkList(const T *list, int32_t count, const char *what) {
  if (count < 0 || (count && !list))
    return makeError("expected a list of ", what, ", found ", list ? "" : "no list and ",
                     "a count of ", count);
  return Status::success();
}
template <typename T> std::span<const T> listOf(const T *list, int32_t count) {
  return {list, static_cast<size_t>(count)};
}

/// A struct whose first member says how much of it the caller knows; the rest is zero.
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

/// Scalars by name, each once. Whether the function has them is the call's to check.
Status readScalars(const pe_scalar *given, int32_t count, plan::Scalars &scalars);

/// Views as tensors by name, which use the caller's memory.
Expected<TensorMap> tensorsOf(const pe_view *list, int32_t count);

} // namespace pe::api

#endif // PE_RUNTIME_API_CARGUMENTS_H
