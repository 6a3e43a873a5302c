//===- TrainCommands.h - The subcommands of training ---===//
#ifndef PE_TOOLS_PE_TRAINCOMMANDS_H
#define PE_TOOLS_PE_TRAINCOMMANDS_H

#include "pe/Error.h"

#include <functional>
#include <string>

namespace pe::cli {

/// Runs the command and reports its error as `pe NAME` would. Returns the exit status.
int runTraining(const std::string &name, const std::function<Expected<int>()> &command);

} // namespace pe::cli

#endif // PE_TOOLS_PE_TRAINCOMMANDS_H
