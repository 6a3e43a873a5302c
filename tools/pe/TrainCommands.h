//===- TrainCommands.h - the subcommands with flags of their own ---===//
#ifndef PE_TOOLS_PE_TRAINCOMMANDS_H
#define PE_TOOLS_PE_TRAINCOMMANDS_H

#include "runtime/train/session/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace pe::cli {

struct TrainedEncoding;

/// Texts and files are the same by their content, wherever they lie and however that is spelled:
/// adds the hashes of all that a run reads.
Status addContentHashes(const train::TrainConfig &config, const TrainedEncoding &encoding,
                        const std::vector<std::shared_ptr<const train::Corpus>> &corpora,
                        train::Metadata &identity);

/// The encoding compiled with the factor of each phase that has one.
Expected<std::vector<train::AttentionFactory>> attentionOfPhases(const train::TrainConfig &config,
                                                                 const TrainedEncoding &encoding,
                                                                 ParallelFor &pool);

/// Runs `pe NAME arguments...` if NAME is train, compare or demo; none otherwise.
std::optional<int> runTrainCommand(const std::string &name,
                                   const std::vector<std::string> &arguments);

/// `pe demo`: trains one small language model per encoding and writes the table and the report.
int runDemo(const std::vector<std::string> &arguments);

} // namespace pe::cli

#endif // PE_TOOLS_PE_TRAINCOMMANDS_H
