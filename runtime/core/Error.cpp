//===- Error.cpp - The runtime's errors -----------------------------------===//

#include "runtime/core/Error.h"

#include <cerrno>
#include <cstring>

namespace pe {

std::string joinChoices(const std::vector<std::string> &choices) {
  if (choices.empty())
    return "nothing";
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i)
      text += i + 1 == choices.size() ? " or " : ", ";
    text += "'" + choices[i] + "'";
  }
  return text;
}

Error systemError(const std::string &file, const std::string &what) {
  const int code = errno;
  return makeError("file '", file, "': ", what, ": ", std::strerror(code));
}

} // namespace pe
