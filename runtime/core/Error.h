//===- Error.h - The runtime's errors ---------------------------*- C++ -*-===//
//
// The types are public API, in runtime/include/pe/Error.h; here is what only the runtime's own
// messages need.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_ERROR_H
#define PE_RUNTIME_CORE_ERROR_H

#include "pe/Error.h"

namespace pe {

/// "'a', 'b' or 'c'" ("nothing" for an empty list): the accepted choices in a message.
std::string joinChoices(const std::vector<std::string> &choices);

/// "; did you mean 'x'?" for the choice that `found` most likely misspells, or empty.
std::string suggestChoice(const std::string &found, const std::vector<std::string> &choices);

/// "file 'NAME': WHAT: reason from errno", for a system call that has just failed.
Error systemError(const std::string &file, const std::string &what);

} // namespace pe

#endif // PE_RUNTIME_CORE_ERROR_H
