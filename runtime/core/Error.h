//===- Error.h - Building blocks of error messages --------------*- C++ -*-===//
//
// The types are public API (runtime/include/pe/Error.h). This header has the helpers for the
// runtime's own messages.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_ERROR_H
#define PE_RUNTIME_CORE_ERROR_H

#include "pe/Error.h"

namespace pe {

/// Formats the accepted choices for a message: "'a', 'b' or 'c'"; "nothing" for an empty list.
std::string joinChoices(const std::vector<std::string> &choices);

/// Returns "; did you mean 'x'?" for the choice that `found` most likely misspells, or "".
std::string suggestChoice(const std::string &found, const std::vector<std::string> &choices);

/// Returns the error `file 'NAME': WHAT: REASON` for a system call that has just failed; the reason
/// comes from errno.
Error systemError(const std::string &file, const std::string &what);

} // namespace pe

#endif // PE_RUNTIME_CORE_ERROR_H
