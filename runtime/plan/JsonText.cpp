//===- JsonText.cpp - Strict parsing of JSON ------------------------------===//
//
// A first pass over the text builds no values and stops at the first problem.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/JsonText.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

namespace pe::plan {
namespace {

using Json = nlohmann::json;

/// Returns the part of `text` that a message quotes: one short line of ASCII.
std::string quotable(std::string_view text) {
  constexpr size_t kMost = 120;
  std::string result(text.substr(0, kMost));
  for (char &c : result)
    if (c < ' ' || c > '~')
      c = '?';
  return result + (text.size() > kMost ? "..." : "");
}

/// Extracts from a message of nlohmann::json the part that describes what was found.
std::string causeOf(const std::string &message) {
  constexpr std::string_view overflow = "number overflow parsing '";
  if (const size_t begin = message.find(overflow); begin != std::string::npos) {
    std::string number = message.substr(begin + overflow.size());
    number.resize(number.find('\''));
    return "the number " + quotable(number) + ", which overflows float64";
  }
  const size_t dash = message.find(" - ");
  return quotable(dash == std::string::npos ? message : message.substr(dash + 3));
}

class ProblemFinder final : public nlohmann::json_sax<Json> {
public:
  explicit ProblemFinder(size_t maxDepth) : maxDepth(maxDepth) {}

  /// For a duplicate, `byte` is the index of the key among all keys, from 0.
  std::optional<JsonProblem> problem;

  bool start_object(size_t) override {
    keys.emplace_back();
    return enter();
  }
  bool end_object() override {
    keys.pop_back();
    --depth;
    return true;
  }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override {
    --depth;
    return true;
  }
  bool key(std::string &name) override {
    if (!keys.back().insert(name).second)
      problem = {JsonProblem::Kind::Duplicate, keyCount, quotable(name)};
    ++keyCount;
    return !problem;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string &) override { return true; }
  bool string(std::string &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool parse_error(size_t byte, const std::string &,
                   const nlohmann::detail::exception &error) override {
    problem = {JsonProblem::Kind::Syntax, byte, causeOf(error.what())};
    return false;
  }

private:
  bool enter() {
    if (++depth > maxDepth)
      problem = {JsonProblem::Kind::Depth, 0, ""};
    return !problem;
  }

  size_t maxDepth, depth = 0, keyCount = 0;
  std::vector<std::unordered_set<std::string>> keys;
};

/// Calls visit(begin, end) with the first and last byte of every string, and of every bracket
/// outside strings, until it returns true; returns that `begin`. The text has no syntax errors up
/// to this point.
template <typename Visit> size_t findToken(std::string_view text, Visit visit) {
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t begin = i;
    if (text[i] == '"')
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
    else if (!std::strchr("[]{}", text[i]))
      continue;
    if (visit(begin, i))
      return begin;
  }
  return 0;
}

/// Returns the bracket that opens level `depth`, counted from 1.
size_t findLevel(std::string_view text, size_t depth) {
  size_t level = 0;
  return findToken(text, [&](size_t begin, size_t) {
    level += text[begin] == '[' || text[begin] == '{';
    level -= text[begin] == ']' || text[begin] == '}';
    return level == depth;
  });
}

/// Returns key `number`, counted from 0: a string followed by a colon.
size_t findKey(std::string_view text, size_t number) {
  size_t seen = 0;
  return findToken(text, [&](size_t begin, size_t end) {
    const size_t next = text.find_first_not_of(" \t\r\n", end + 1);
    const bool isKey = text[begin] == '"' && next != std::string_view::npos && text[next] == ':';
    return isKey && seen++ == number;
  });
}

} // namespace

std::optional<JsonProblem> findJsonProblem(std::string_view text, size_t maxDepth) {
  ProblemFinder finder(maxDepth);
  Json::sax_parse(text, &finder);
  if (finder.problem && finder.problem->kind == JsonProblem::Kind::Depth) {
    finder.problem->byte = 1 + findLevel(text, maxDepth + 1);
    finder.problem->found = "more than " + std::to_string(maxDepth) + " nested levels";
  } else if (finder.problem && finder.problem->kind == JsonProblem::Kind::Duplicate) {
    finder.problem->byte = 1 + findKey(text, finder.problem->byte);
  }
  return finder.problem;
}

std::string placeIn(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ":" +
         std::to_string(before.size() - begin + 1);
}

Error describe(const JsonProblem &problem, std::string_view text, const std::string &where) {
  const std::string place = where + ":" + placeIn(text, problem.byte);
  if (problem.kind == JsonProblem::Kind::Duplicate)
    return makeError(place, ": expected unique keys, found '", problem.found, "' twice");
  return makeError(place, ": expected JSON, found ", problem.found);
}

} // namespace pe::plan
