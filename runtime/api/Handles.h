//===- Handles.h - Handles of the C API -------------------------*- C++ -*-===//
//
// Keeps a table of the objects that the C API has returned. Every handle that a caller passes is
// looked up before it is used. A handle that was closed, has another kind or never came from pe is
// an error. The lookup returns a shared pointer, so that another thread may close the handle during
// a call. A stale handle is not detected if the allocator has reused its address for a newer object
// of the same kind.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_HANDLES_H
#define PE_RUNTIME_API_HANDLES_H

#include "pe/Error.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace pe::api {

enum class HandleKind { Function, Call };

/// The table of open handles. Thread-safe.
class Handles {
public:
  /// Adds an object and returns its address.
  template <typename T> T *add(HandleKind kind, std::shared_ptr<T> object) {
    T *address = object.get();
    std::unique_lock lock(mutex);
    objects[address] = {kind, std::move(object)};
    return address;
  }
  /// Removes an object. Fails if it is not in the table.
  Status remove(HandleKind kind, const void *object, const char *argument);
  /// Finds an open object of this kind. `argument` is the name of the caller's argument.
  template <typename T>
  Status find(HandleKind kind, T *object, const char *argument, std::shared_ptr<T> &found) const {
    std::shared_lock lock(mutex);
    const auto entry = objects.find(object);
    if (entry == objects.end() || entry->second.kind != kind)
      return explain(kind, object, argument);
    found = std::static_pointer_cast<T>(entry->second.object);
    return Status::success();
  }

  /// Returns the table of this process.
  static Handles &instance();

private:
  struct Entry {
    HandleKind kind;
    std::shared_ptr<void> object;
  };
  Error explain(HandleKind kind, const void *object, const char *argument) const;
  mutable std::shared_mutex mutex;
  std::unordered_map<const void *, Entry> objects;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_HANDLES_H
