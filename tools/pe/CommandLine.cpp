//===- CommandLine.cpp - Errors on the command line ---===//
#include "tools/pe/CommandLine.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

namespace pe::cli {
namespace {

/// Returns "--name" or "-o" of an argument, without "=value".
std::string nameOf(const std::string &argument) { return argument.substr(0, argument.find('=')); }

bool isOption(const std::string &argument) {
  return argument.size() > 1 && argument[0] == '-' && !std::isdigit(argument[1]);
}

/// Returns true if the option takes several values as separate words.
bool takesMany(const CLI::Option &option) { return option.get_items_expected_max() > 1; }

/// Returns "; did you mean '--out'?" for -o or a misspelt name; otherwise an empty string.
std::string suggestOption(const std::string &given, const std::vector<std::string> &names) {
  if (given.size() == 2) {
    std::vector<std::string> found;
    for (const std::string &name : names)
      if (name.starts_with("-" + given))
        found.push_back(name);
    return found.size() == 1 ? "; did you mean '" + found.front() + "'?" : "";
  }
  return suggestChoice(given, names);
}

std::vector<std::string> namesOf(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

template <typename Number> bool isNumber(const std::string &text) {
  Number value{};
  const char *end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && rest == end;
}

Status checkNumber(const CLI::Option &option, const std::string &name, const std::string &value) {
  const std::string type = option.get_type_name();
  if (type == "INT" && !isNumber<int64_t>(value))
    return makeError(name, ": expected an integer, found '", value, "'");
  if (type == "UINT" && !isNumber<uint64_t>(value))
    return makeError(name, ": expected an integer of 0 or more, found '", value, "'");
  return Status::success();
}

/// Returns the number of arguments of the command that are not options.
size_t countPlaces(const CLI::App &command) {
  return command.get_options([](const CLI::Option *option) { return option->get_positional(); })
      .size();
}

/// Returns advice on a word that does not belong to an option: "; write --time=3" after a flag with
/// an optional value, or the option for which such words are usually meant.
std::string suggestFor(const CLI::App &command, const std::string &word,
                       const std::string &before) {
  const CLI::Option *flag = isOption(before) ? command.get_option_no_throw(before) : nullptr;
  if (flag && flag->get_items_expected_max() == 0 && !flag->get_disable_flag_override())
    return "; write " + before + "=" + word;
  if (command.get_option_no_throw("--" + nameOf(word)))
    return "; did you mean '--" + word + "'?";
  if (countPlaces(command) == 0) {
    for (const char *name : {"--in", "--with", "--encoding"})
      if (command.get_option_no_throw(name))
        return "; write " + std::string(name) + "=" + word;
  } else if (command.get_option_no_throw("--encodings") && !isOption(before)) {
    return "; write --encodings=" + before + "," + word;
  }
  return "";
}

Status checkValue(const CLI::Option &option, const std::string &name, const std::string &value) {
  if (value.empty())
    return makeError(name, ": expected a value after '=', found none");
  const char delimiter = option.get_delimiter();
  for (size_t start = 0; start <= value.size();) {
    const size_t end =
        delimiter ? std::min(value.find(delimiter, start), value.size()) : value.size();
    if (Status checked = checkNumber(option, name, value.substr(start, end - start)); !checked)
      return checked;
    start = end + 1;
  }
  return Status::success();
}

} // namespace

Status findMistake(const CLI::App &command, const std::string &name,
                   const std::vector<std::string> &arguments) {
  std::set<const CLI::Option *> seen; // hidden options have no name
  size_t places = countPlaces(command);
  for (size_t n = 0; n < arguments.size(); ++n) {
    const std::string &argument = arguments[n];
    if (argument == "-h" || argument == "--help")
      return Status::success();
    if (!isOption(argument)) {
      if (places-- == 0) {
        const std::string hint = suggestFor(command, argument, n ? arguments[n - 1] : "");
        return makeError("unexpected argument '", argument, "'",
                         hint.empty() ? "; see pe " + name + " --help" : hint);
      }
      continue;
    }
    const std::string given = nameOf(argument);
    const CLI::Option *option = command.get_option_no_throw(given);
    if (!option) {
      const std::string hint = suggestOption(given, namesOf(command));
      return makeError("unknown option ", given,
                       hint.empty() ? "; see pe " + name + " --help" : hint);
    }
    const bool isJoined = option->get_multi_option_policy() == CLI::MultiOptionPolicy::Join;
    if (!seen.insert(option).second && !isJoined)
      return makeError(given, " is given twice");
    const bool hasValue = given.size() < argument.size();
    if (option->get_items_expected_max() == 0) { // a flag
      if (hasValue && option->get_disable_flag_override())
        return makeError(given, ": expected no value, found '", argument.substr(given.size() + 1),
                         "'");
      if (hasValue && given.size() + 1 == argument.size())
        return makeError(given, ": expected a value after '=', found none; write ", given, " or ",
                         given, "=VALUE");
      continue;
    }
    if (!hasValue && (n + 1 == arguments.size() || arguments[n + 1].starts_with("--")))
      return makeError(given, ": expected a value, found none; write ", given,
                       given.starts_with("--") ? "=" : " ", "VALUE");
    const std::string value = hasValue ? argument.substr(given.size() + 1) : arguments[++n];
    if (Status checked = checkValue(*option, given, value); !checked)
      return checked;
    while (takesMany(*option) && n + 1 < arguments.size() && !isOption(arguments[n + 1]))
      if (Status checked = checkValue(*option, given, arguments[++n]); !checked)
        return checked;
  }
  return Status::success();
}

Error explainMissingCommand(const CLI::App &app, const std::string &option) {
  const std::string name = nameOf(option);
  std::string commands;
  for (const CLI::App *command : app.get_subcommands(nullptr))
    if (command->get_option_no_throw(name))
      commands += (commands.empty() ? "pe " : ", pe ") + command->get_name();
  if (!commands.empty())
    return makeError("expected a command before ", name, ", which is an option of ", commands);
  const std::string hint = suggestOption(name, {"--help", "--version"});
  return makeError("unknown option ", name, hint.empty() ? "; see pe --help" : hint);
}

Error describe(const CLI::ParseError &error, const std::string &command) {
  std::string message = error.what();
  const std::string required = " is required", extra = "The following argument was not expected: ";
  if (error.get_name() == "RequiredError" && message.ends_with(required))
    message = "expected " + message.substr(0, message.size() - required.size()) + ", found none";
  else if (message.starts_with(extra))
    message = "unexpected argument '" + message.substr(extra.size()) + "'";
  else if (message.size() > 1 && std::islower(message[1]))
    message[0] = static_cast<char>(std::tolower(message[0]));
  return makeError(message, "; see pe ", command, " --help");
}

CLI::Option *addSwitch(CLI::App &app, const std::string &name, bool &variable,
                       const std::string &about) {
  return app.add_flag(name, variable, about)->disable_flag_override();
}

CLI::Validator oneOf(std::vector<std::string> choices) {
  return CLI::Validator(
      [choices](std::string &found) {
        if (std::find(choices.begin(), choices.end(), found) != choices.end())
          return std::string();
        return "expected " + joinChoices(choices) + ", found '" + found + "'" +
               suggestChoice(found, choices);
      },
      "");
}

} // namespace pe::cli
