//===- CErrors.cpp - Errors of the C API ----------------------------------===//

#include "runtime/api/CErrors.h"
#include "pe/pe-c.h"

#include <charconv>
#include <string>

namespace {

using pe::Error;
using pe::Status;

struct LastError {
  std::string text, message, file;
  pe_error_kind kind = PE_ERROR_NONE;
  int32_t line = 0, column = 0;
};
thread_local LastError lastError;

/// Removes a number and the ':' before it from the end of `text` and returns it, or 0 if there is
/// none.
int32_t takeNumber(std::string &text) {
  const size_t colon = text.rfind(':');
  int32_t number = 0;
  if (colon == std::string::npos)
    return 0;
  const char *end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data() + colon + 1, end, number);
  if (code != std::errc() || rest != end)
    return 0;
  text.resize(colon);
  return number;
}

void store(const Error &error) {
  lastError = {error.render("pe"), error.getMessage(), error.getLocation(),
               static_cast<pe_error_kind>(error.getKind())};
  lastError.column = takeNumber(lastError.file);
  lastError.line = takeNumber(lastError.file);
}

} // namespace

int pe::api::report(const Status &status) noexcept {
  if (status)
    return 0;
  try {
    store(status.error());
  } catch (...) { // no memory for the message
    lastError.kind = PE_ERROR_MEMORY;
  }
  return 1;
}

extern "C" {

const char *pe_last_error(void) { return lastError.text.c_str(); }

void pe_last_error_info(pe_error_info *info) {
  if (info)
    *info = {lastError.kind, lastError.message.c_str(), lastError.file.c_str(), lastError.line,
             lastError.column};
}

} // extern "C"
