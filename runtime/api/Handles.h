//===- Handles.h - The objects that C programs hold -------------*- C++ -*-===//
//
// C has no types to tell a closed function from an open one, or a call from a function. Every
// object that the C API hands out is noted here, and every address that comes back is looked up
// before it is used: one that was closed, is of another kind or never came from pe is an error.
// Whoever looks an object up shares it, so that another thread may close it meanwhile. An address
// that the allocator has given to a newer object of the same kind cannot be told from it.
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

/// Thread-safe.
class Handles {
public:
  /// Notes an object; returns its address.
  template <typename T> T *add(HandleKind kind, std::shared_ptr<T> object) {
    T *address = object.get();
    std::unique_lock lock(mutex);
    objects[address] = {kind, std::move(object)};
    return address;
  }
  /// Forgets it; an error if it is not there.
  Status remove(HandleKind kind, const void *object, const char *argument);
  /// The object, if it is of that kind and still open; `argument` is what the caller gave it as.
  template <typename T>
  Status find(HandleKind kind, T *object, const char *argument, std::shared_ptr<T> &found) const {
    std::shared_lock lock(mutex);
    const auto entry = objects.find(object);
    if (entry == objects.end() || entry->second.kind != kind)
      return explain(kind, object, argument);
    found = std::static_pointer_cast<T>(entry->second.object);
    return Status::success();
  }

  /// The one of this process.
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
