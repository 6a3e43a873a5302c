//===- CErrors.h - Errors of the C API --------------------------*- C++ -*-===//
#ifndef PE_RUNTIME_API_CERRORS_H
#define PE_RUNTIME_API_CERRORS_H

#include "runtime/api/Guard.h"

namespace pe::api {

/// Stores the error of `status` for pe_last_error of this thread. Returns 0 if there is none, and
/// otherwise 1, the result of the function that failed. Does not throw.
int report(const Status &status) noexcept;

/// Runs `body` and reports its error. No exception reaches C code.
template <typename Body> int reported(Body &&body) {
  return report(guarded([&]() -> Status { return body(); }));
}

} // namespace pe::api

#endif // PE_RUNTIME_API_CERRORS_H
