//===- JsonText.h - Reading JSON that may be wrong --------------*- C++ -*-===//
//
// Every reader of JSON in pe parses with parseJson. It refuses what nlohmann::json accepts silently
// or does not survive: numbers beyond float64, nesting that overflows the stack of its recursive
// functions, and keys that occur twice in one object, of which it keeps the last.
//
//   run/phases.json:2:14: expected JSON, found the number 1e999, which is beyond float64
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_JSONTEXT_H
#define PE_RUNTIME_PLAN_JSONTEXT_H

#include "pe/Error.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace pe::plan {

/// More levels than any of pe's files has.
inline constexpr size_t kMaxJsonDepth = 256;

struct JsonProblem {
  enum class Kind : uint8_t { Syntax, Depth, Duplicate } kind;
  /// The number of the offending byte, counted from 1.
  size_t byte;
  /// What was found: "unexpected end of input; expected '}'". For a duplicate the key.
  std::string found;
};

/// The first problem of a text; nothing if it is JSON with at most `maxDepth` nested levels.
std::optional<JsonProblem> findJsonProblem(std::string_view text, size_t maxDepth = kMaxJsonDepth);

/// "LINE:COLUMN" of byte number `byte` of a text, all counted from 1.
std::string placeIn(std::string_view text, size_t byte);

/// The problem in one line, which begins with "WHERE:LINE:COLUMN: expected".
Error describe(const JsonProblem &problem, std::string_view text, const std::string &where);

/// Parses `text`; `where` names it in the error, with line and column.
template <typename Json = nlohmann::json>
Expected<Json> parseJson(std::string_view text, const std::string &where) {
  if (std::optional<JsonProblem> problem = findJsonProblem(text))
    return describe(*problem, text, where);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// The first `limit` bytes of a value as JSON in ASCII, for messages.
template <typename Json> std::string shortened(const Json &value, size_t limit = 80) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= limit ? text : text.substr(0, limit) + "...";
}

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_JSONTEXT_H
