//===- Task.cpp - Generated exercises -------------------------------------===//
//
// The four tasks and their names.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Task.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace pe::train {
namespace {

constexpr std::string_view kPrefix = "task:";

struct Option {
  const char *name;
  double preset, least, most;
  bool isWhole;
};

struct Description {
  const char *name;
  std::vector<Option> options;
};

/// Returns the tasks in the order of Task::Kind.
const std::vector<Description> &descriptions() {
  static const std::vector<Description> list = {
      {"flip-flop", {{"p", 0.8, 0, 1, false}}},
      {"copy", {{"symbols", 16, 2, 1 << 16, true}}},
      {"addition", {{"digits", 0, 0, 1 << 20, true}}},
      {"dyck", {{"k", 2, 2, 1 << 10, true}, {"depth", 8, 1, 1 << 20, true}}}};
  return list;
}

template <typename List> std::vector<std::string> namesOf(const List &list) {
  std::vector<std::string> names;
  for (const auto &entry : list)
    names.emplace_back(entry.name);
  return names;
}

Expected<double> parseOption(const Option &option, const std::string &text) {
  double value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool isNumber = failure == std::errc() && end == text.data() + text.size();
  if (!isNumber || !(value >= option.least && value <= option.most) ||
      (option.isWhole && value != std::floor(value)))
    return makeError("'", option.name, "': expected ", option.isWhole ? "an integer" : "a number",
                     " from ", option.least, " to ", static_cast<int64_t>(option.most), ", found '",
                     text, "'");
  return value;
}

/// A sequence of pairs of an instruction and its argument. With an odd length, the last token is
/// unused.
class Pairs {
public:
  explicit Pairs(int64_t tokens) {
    exercise.tokens.assign(tokens, 0);
    exercise.asked.assign(tokens, false);
  }
  int64_t count() const { return static_cast<int64_t>(exercise.tokens.size()) / 2; }
  void set(int64_t pair, int64_t instruction, int64_t argument, bool asks) {
    exercise.tokens[2 * pair] = static_cast<int32_t>(instruction);
    exercise.tokens[2 * pair + 1] = static_cast<int32_t>(argument);
    exercise.asked[2 * pair + 1] = asks;
  }
  Exercise exercise;
};

Exercise flipFlop(Random &random, int64_t tokens, double ignore) {
  enum : int64_t { Write, Ignore, Read, Bit };
  Pairs pairs(tokens);
  int64_t memory = 0;
  for (int64_t i = 0; i < pairs.count(); ++i) {
    int64_t instruction = Ignore;
    if (i == 0 || i + 1 == pairs.count())
      instruction = i == 0 ? Write : Read;
    else if (random.uniform() >= ignore)
      instruction = random.below(2) ? Read : Write;
    auto bit = static_cast<int64_t>(random.below(2));
    if (instruction == Read)
      bit = memory;
    else if (instruction == Write)
      memory = bit;
    pairs.set(i, instruction, Bit + bit, instruction == Read);
  }
  return std::move(pairs.exercise);
}

Exercise dyck(Random &random, int64_t tokens, int64_t kinds, int64_t depth) {
  enum : int64_t { Open, Close, FirstKind };
  Pairs pairs(tokens);
  std::vector<int64_t> open;
  for (int64_t i = 0; i < pairs.count(); ++i) {
    const auto deep = static_cast<int64_t>(open.size());
    const bool mustClose = deep == depth || deep >= pairs.count() - i;
    if (deep > 0 && (mustClose || random.below(2))) {
      pairs.set(i, Close, FirstKind + open.back(), true);
      open.pop_back();
      continue;
    }
    open.push_back(static_cast<int64_t>(random.below(kinds)));
    pairs.set(i, Open, FirstKind + open.back(), false);
  }
  return std::move(pairs.exercise);
}

Exercise copy(Random &random, int64_t tokens, int64_t symbols) {
  const int64_t count = (tokens - 1) / 2;
  Exercise exercise{std::vector<int32_t>(tokens, static_cast<int32_t>(symbols)),
                    std::vector<bool>(tokens, false)};
  for (int64_t i = 0; i < count; ++i) {
    const auto symbol = static_cast<int32_t>(random.below(symbols));
    exercise.tokens[i] = exercise.tokens[count + 1 + i] = symbol;
    exercise.asked[count + 1 + i] = true;
  }
  return exercise;
}

Exercise addition(Random &random, int64_t tokens, int64_t digits) {
  constexpr int32_t kPlus = 10, kEquals = 11, kPadding = 12;
  Exercise exercise{std::vector<int32_t>(tokens, kPadding), std::vector<bool>(tokens, false)};
  int32_t carry = 0;
  for (int64_t i = 0; i <= digits; ++i) {
    int32_t sum = carry;
    for (int64_t place : {i, digits + 1 + i})
      if (i < digits)
        sum += exercise.tokens[place] = static_cast<int32_t>(random.below(10));
    const int64_t place = 2 * digits + 2 + i;
    exercise.tokens[place] = sum % 10;
    exercise.asked[place] = true;
    carry = sum / 10;
  }
  exercise.tokens[digits] = kPlus;
  exercise.tokens[2 * digits + 1] = kEquals;
  return exercise;
}

} // namespace

Expected<DataName> parseDataName(std::string_view text) {
  const size_t question = text.find('?');
  DataName result{std::string(text.substr(0, question)), {}};
  std::string_view rest = question == std::string_view::npos ? "" : text.substr(question + 1);
  if (rest.empty() && question != std::string_view::npos)
    return makeError("expected ?KEY=VALUE, found nothing after '?' in '", text, "'");
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return makeError("expected ?KEY=VALUE&KEY=VALUE, found '", part, "' in '", text, "'");
    const std::string key(part.substr(0, equals));
    for (const auto &[earlier, value] : result.options)
      if (earlier == key)
        return makeError("'", key, "' is given twice in '", text, "'");
    result.options.emplace_back(key, part.substr(equals + 1));
  }
  return result;
}

bool Task::isName(std::string_view data) { return data.starts_with(kPrefix); }

Expected<Task> Task::parse(std::string_view data) {
  auto name = parseDataName(data.substr(kPrefix.size()));
  if (!name)
    return name.takeError();
  const std::vector<std::string> known = namesOf(descriptions());
  const auto found = std::find(known.begin(), known.end(), name->name);
  if (found == known.end())
    return makeError("expected a task of ", joinChoices(known), ", found '", name->name, "'",
                     suggestChoice(name->name, known));
  Task task;
  task.kind = static_cast<Kind>(found - known.begin());
  const Description &description = descriptions()[found - known.begin()];
  for (const Option &option : description.options)
    task.options[option.name] = option.preset;
  const std::vector<std::string> choices = namesOf(description.options);
  for (const auto &[key, text] : name->options) {
    const auto place = std::find(choices.begin(), choices.end(), key);
    if (place == choices.end())
      return makeError("task '", *found, "': expected an option of ", joinChoices(choices),
                       ", found '", key, "'", suggestChoice(key, choices));
    auto value = parseOption(description.options[place - choices.begin()], text);
    if (!value)
      return value.takeError().within("task '" + *found + "'");
    task.options[key] = *value;
  }
  return task;
}

int64_t Task::vocabulary() const {
  switch (kind) {
  case Kind::FlipFlop:
    return 5;
  case Kind::Copy:
    return whole("symbols") + 1;
  case Kind::Addition:
    return 13;
  case Kind::Dyck:
    return 2 + whole("k");
  }
  return 0;
}

int64_t Task::shortest() const { return kind == Kind::Copy ? 2 : kind == Kind::Addition ? 5 : 3; }

int64_t Task::shortestToTrain() const {
  return kind == Kind::Addition ? 3 * std::max<int64_t>(whole("digits"), 1) + 2 : shortest();
}

std::string Task::named(std::string (*textOf)(double)) const {
  std::string text = std::string(kPrefix) + descriptions()[static_cast<size_t>(kind)].name;
  char separator = '?';
  for (const auto &[name, value] : options) {
    text += separator + name + "=" + textOf(value);
    separator = '&';
  }
  return text;
}

std::string Task::spelling() const {
  return named([](double value) {
    char digits[40];
    return std::string(digits, std::to_chars(digits, std::end(digits), value).ptr);
  });
}

std::string Task::identity() const {
  return named([](double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    return std::string(digits);
  });
}

Exercise Task::generate(Random &random, int64_t length, bool training) const {
  const int64_t tokens = length + 1;
  switch (kind) {
  case Kind::FlipFlop:
    return flipFlop(random, tokens, number("p"));
  case Kind::Copy:
    return copy(random, tokens, whole("symbols"));
  case Kind::Dyck:
    return dyck(random, tokens, whole("k"), whole("depth"));
  case Kind::Addition:
    break;
  }
  const int64_t fitting = (tokens - 3) / 3;
  if (!training)
    return addition(random, tokens, fitting);
  const int64_t most = whole("digits") ? std::min(whole("digits"), fitting) : fitting;
  return addition(random, tokens, 1 + static_cast<int64_t>(random.below(most)));
}

} // namespace pe::train
