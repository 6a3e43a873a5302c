//===- Commands.h - The subcommands of pe ---===//
//
// There is one file per subcommand. It adds its options to the command line and returns the action
// to run if the subcommand is chosen. An action returns the exit status and prints its own errors
// (reportError), whose first line is `FILE:LINE:COL: error: ...` or `pe NAME: error: ...`.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_COMMANDS_H
#define PE_TOOLS_PE_COMMANDS_H

#include "pe/Error.h"

#include <CLI/CLI.hpp>
#include <functional>

namespace pe::cli {

using Action = std::function<int()>;

Action addRun(CLI::App &app);
Action addCompile(CLI::App &app);
Action addExplain(CLI::App &app);
Action addDoctor(CLI::App &app);
Action addBench(CLI::App &app);
Action addPlot(CLI::App &app);
Action addReinit(CLI::App &app);
Action addRepresent(CLI::App &app);
Action addPtx(CLI::App &app);
Action addTrain(CLI::App &app);
Action addCompare(CLI::App &app);
Action addDemo(CLI::App &app);

/// Prints an error of `pe NAME` and returns 1.
int reportError(const std::string &command, const Error &error);

} // namespace pe::cli

#endif // PE_TOOLS_PE_COMMANDS_H
