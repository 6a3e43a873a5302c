//===- Handles.cpp - The objects that C programs hold ---------------------===//

#include "runtime/api/Handles.h"

namespace pe::api {

static const char *nameOf(HandleKind kind) {
  static constexpr const char *names[] = {"pe_function", "pe_call", "pe_session"};
  return names[static_cast<size_t>(kind)];
}

Handles &Handles::instance() {
  // Never destroyed: programs may close what they hold from their own static destructors.
  static auto *handles = new Handles;
  return *handles;
}

Status Handles::checkLocked(HandleKind kind, const void *object, const char *argument) const {
  if (!object)
    return makeError("argument '", argument, "': expected an address, found none");
  const auto found = objects.find(object);
  if (found == objects.end())
    return makeError("argument '", argument, "': expected an open ", nameOf(kind),
                     ", found one that was closed or was never opened");
  if (found->second != kind)
    return makeError("argument '", argument, "': expected a ", nameOf(kind), ", found a ",
                     nameOf(found->second));
  return Status::success();
}

Status Handles::check(HandleKind kind, const void *object, const char *argument) const {
  std::lock_guard lock(mutex);
  return checkLocked(kind, object, argument);
}

Status Handles::remove(HandleKind kind, const void *object, const char *argument) {
  std::lock_guard lock(mutex);
  if (Status s = checkLocked(kind, object, argument); !s)
    return s;
  objects.erase(object);
  return Status::success();
}

} // namespace pe::api
