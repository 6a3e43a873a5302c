//===- Handles.h - The objects that C programs hold -------------*- C++ -*-===//
//
// C has no types to tell a closed function from an open one, or a call from a session. Every object
// that the C API hands out is noted here, and every address that comes back is looked up before it
// is used: one that was closed, is of another kind or never came from pe is an error. An address
// that the allocator has given to a newer object of the same kind cannot be told from it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_HANDLES_H
#define PE_RUNTIME_API_HANDLES_H

#include "pe/Error.h"

#include <map>
#include <mutex>

namespace pe::api {

enum class HandleKind { Function, Call, Session };

/// Thread-safe.
class Handles {
public:
  /// Notes an object; returns its address.
  template <typename T> T *add(HandleKind kind, T *object) {
    std::lock_guard lock(mutex);
    objects[object] = kind;
    return object;
  }
  /// Forgets it; an error if it is not there.
  Status remove(HandleKind kind, const void *object, const char *argument);
  /// Whether `object`, the argument of that name, is one of that kind and still open.
  Status check(HandleKind kind, const void *object, const char *argument) const;

  /// The one of this process.
  static Handles &instance();

private:
  Status checkLocked(HandleKind kind, const void *object, const char *argument) const;
  mutable std::mutex mutex;
  std::map<const void *, HandleKind> objects;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_HANDLES_H
