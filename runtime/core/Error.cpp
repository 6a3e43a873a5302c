//===- Error.cpp - Building blocks of error messages ----------------------===//

#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace pe {

/// Returns the number of letters to insert, delete or replace to turn one string into the other.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string suggestChoice(const std::string &found, const std::vector<std::string> &choices) {
  if (found.size() > 64) // unlikely to be a typo, and the edit distance is quadratic
    return "";
  size_t least = std::max<size_t>(found.size() / 3, 2) + 1;
  std::string nearest;
  for (const std::string &choice : choices)
    if (size_t distance = editDistance(found, choice); distance < least) {
      least = distance;
      nearest = choice;
    }
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

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
