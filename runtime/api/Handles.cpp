//===- Handles.cpp - Handles of the C API ---------------------------------===//

#include "runtime/api/Handles.h"

namespace pe::api {

static const char *nameOf(HandleKind kind) {
  static constexpr const char *names[] = {"pe_function", "pe_call"};
  return names[static_cast<size_t>(kind)];
}

Handles &Handles::instance() {
  // Never destroyed, because static destructors of the application may close handles.
  static auto *handles = new Handles;
  return *handles;
}

/// Called with the lock held.
Error Handles::explain(HandleKind kind, const void *object, const char *argument) const {
  if (!object)
    return makeError("argument '", argument, "': expected an address, found none");
  const auto found = objects.find(object);
  if (found == objects.end())
    return makeError("argument '", argument, "': expected an open ", nameOf(kind),
                     ", found one that was closed or was never opened");
  return makeError("argument '", argument, "': expected a ", nameOf(kind), ", found a ",
                   nameOf(found->second.kind));
}

Status Handles::remove(HandleKind kind, const void *object, const char *argument) {
  std::shared_ptr<void> last; // destroyed after the lock is released
  std::unique_lock lock(mutex);
  const auto found = objects.find(object);
  if (found == objects.end() || found->second.kind != kind)
    return explain(kind, object, argument);
  last = std::move(found->second.object);
  objects.erase(found);
  lock.unlock();
  return Status::success();
}

} // namespace pe::api
