//===- CommandLine.h - mistakes on the command line ---===//
//
// CLI11 reads the command line; its error messages are reworded into one line that names the
// option, what was expected and what was found:
//
//   pe run: error: unknown option --thread; did you mean '--threads'?
//   pe run: error: --threads: expected a whole number, found 'abc'
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_COMMANDLINE_H
#define PE_TOOLS_PE_COMMANDLINE_H

#include "pe/Error.h"

#include <CLI/CLI.hpp>

namespace pe::cli {

/// The first unknown or repeated option, missing value or misspelt number among the arguments of
/// the subcommand `name`.
Status findMistake(const CLI::App &command, const std::string &name,
                   const std::vector<std::string> &arguments);

/// The error of an option in the place of the command: it names the commands that have the option.
Error explainMissingCommand(const CLI::App &app, const std::string &option);

/// Other errors that CLI11 found: a missing FILE or option, a value that is not an accepted choice.
Error describe(const CLI::ParseError &error, const std::string &command);

/// A flag without a value.
CLI::Option *addSwitch(CLI::App &app, const std::string &name, bool &variable,
                       const std::string &about);

/// Accepts only these values.
CLI::Validator oneOf(std::vector<std::string> choices);

} // namespace pe::cli

#endif // PE_TOOLS_PE_COMMANDLINE_H
