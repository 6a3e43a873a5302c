//===- TrainCommands.h - The subcommands of training ---===//
#ifndef PE_TOOLS_PE_TRAINCOMMANDS_H
#define PE_TOOLS_PE_TRAINCOMMANDS_H

#include "pe/Error.h"
#include "runtime/train/session/Config.h"

#include <functional>
#include <string>

namespace pe::cli {

/// Returns "1 step", "2 steps".
std::string countText(int64_t number, const std::string &what);

/// Returns "2 layers, 64 wide, 4 heads of 16", for reports.
std::string sizeText(const train::DecoderConfig &model);

/// Runs the command and reports its error as `pe NAME` would. Returns the exit status.
int runTraining(const std::string &name, const std::function<Expected<int>()> &command);

} // namespace pe::cli

#endif // PE_TOOLS_PE_TRAINCOMMANDS_H
