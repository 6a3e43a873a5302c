//===- CommandLine.h - Errors on the command line ---===//
//
// CLI11 parses the command line. Its error messages are reworded to one line that names the option,
// the expected value and the value found:
//
//   pe run: error: unknown option --thread; did you mean '--threads'?
//   pe run: error: --threads: expected an integer, found 'abc'
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_COMMANDLINE_H
#define PE_TOOLS_PE_COMMANDLINE_H

#include "pe/Error.h"

#include <CLI/CLI.hpp>

namespace pe::cli {

/// Reports the first unknown or repeated option, missing value or misspelt number among the
/// arguments of the subcommand `name`.
Status findMistake(const CLI::App &command, const std::string &name,
                   const std::vector<std::string> &arguments);

/// Returns the error for an option instead of a command. It names the commands that have the
/// option.
Error explainMissingCommand(const CLI::App &app, const std::string &option);

/// Describes other errors of CLI11: a missing FILE or option, a value that is not an accepted
/// choice.
Error describe(const CLI::ParseError &error, const std::string &command);

/// Adds a flag without a value.
CLI::Option *addSwitch(CLI::App &app, const std::string &name, bool &variable,
                       const std::string &about);

/// Returns a validator that accepts only these values.
CLI::Validator oneOf(std::vector<std::string> choices);

} // namespace pe::cli

#endif // PE_TOOLS_PE_COMMANDLINE_H
