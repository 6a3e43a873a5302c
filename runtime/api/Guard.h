//===- Guard.h - No exception leaves the API --------------------*- C++ -*-===//

#ifndef PE_RUNTIME_API_GUARD_H
#define PE_RUNTIME_API_GUARD_H

#include "pe/Error.h"

#include <exception>
#include <new>

namespace pe::api {

/// What `body` returns; what the standard library throws inside it (no memory, no more threads) is
/// an error like any other.
template <typename Body> auto guarded(Body &&body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return makeError("out of memory").of(ErrorKind::Memory);
  } catch (const std::exception &failure) {
    return makeError("unexpected failure: ", failure.what()).of(ErrorKind::Internal);
  } catch (...) {
    return makeError("unexpected failure").of(ErrorKind::Internal);
  }
}

} // namespace pe::api

#endif // PE_RUNTIME_API_GUARD_H
