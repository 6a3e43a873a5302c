//===- Guard.h - Conversion of exceptions to errors -------------*- C++ -*-===//

#ifndef PE_RUNTIME_API_GUARD_H
#define PE_RUNTIME_API_GUARD_H

#include "pe/Error.h"

#include <exception>
#include <new>

namespace pe::api {

/// Returns the result of `body`. Exceptions of the standard library (out of memory, no more
/// threads) are converted to errors, so that none leaves the API.
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
