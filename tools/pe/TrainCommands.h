//===- TrainCommands.h - The subcommands of training ---===//
#ifndef PE_TOOLS_PE_TRAINCOMMANDS_H
#define PE_TOOLS_PE_TRAINCOMMANDS_H

#include "pe/Error.h"
#include "runtime/train/session/Config.h"

#include <optional>
#include <string>
#include <vector>

namespace pe::cli {

/// Returns "1 step", "2 steps".
std::string countText(int64_t number, const std::string &what);

/// Returns "2 layers, 64 wide, 4 heads of 16", for reports.
std::string sizeText(const train::DecoderConfig &model);

/// Runs `pe NAME arguments...` if NAME is train, compare or demo; otherwise returns nullopt.
std::optional<int> runTrainCommand(const std::string &name,
                                   const std::vector<std::string> &arguments);

/// Runs `pe demo`, a comparison (Grid.h) of one small language model per encoding. Returns the exit
/// status.
Expected<int> runDemo(const std::vector<std::string> &arguments);

} // namespace pe::cli

#endif // PE_TOOLS_PE_TRAINCOMMANDS_H
