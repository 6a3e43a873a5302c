//===- JsonText.h - Strict parsing of JSON ----------------------*- C++ -*-===//
//
// All JSON that pe reads is parsed with parseJson. It rejects input that nlohmann::json accepts
// silently or crashes on: numbers that overflow float64, nesting that overflows the stack of its
// recursive functions, and duplicate keys of an object, of which it keeps the last.
//
//   run/phases.json:2:14: expected JSON, found the number 1e999, which overflows float64
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

/// The maximum nesting, more than any file of pe has.
inline constexpr size_t kMaxJsonDepth = 256;

/// The reason why a text is rejected.
struct JsonProblem {
  enum class Kind : uint8_t { Syntax, Depth, Duplicate } kind;
  /// The position of the offending byte, counted from 1.
  size_t byte;
  /// Describes what was found: "unexpected end of input; expected '}'". For a duplicate, the key.
  std::string found;
};

/// Returns the first problem of `text`, or nullopt if it is JSON with at most `maxDepth` levels.
std::optional<JsonProblem> findJsonProblem(std::string_view text, size_t maxDepth = kMaxJsonDepth);

/// Returns "LINE:COLUMN" of the byte at position `byte`, all counted from 1.
std::string placeIn(std::string_view text, size_t byte);

/// Formats the problem as one line that begins with "WHERE:LINE:COLUMN: expected".
Error describe(const JsonProblem &problem, std::string_view text, const std::string &where);

/// Parses `text`; `where` names it in the error, with line and column.
template <typename Json = nlohmann::json>
Expected<Json> parseJson(std::string_view text, const std::string &where) {
  if (std::optional<JsonProblem> problem = findJsonProblem(text))
    return describe(*problem, text, where);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// Returns the first `limit` bytes of a value as ASCII JSON, for messages.
template <typename Json> std::string shortened(const Json &value, size_t limit = 80) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= limit ? text : text.substr(0, limit) + "...";
}

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_JSONTEXT_H
