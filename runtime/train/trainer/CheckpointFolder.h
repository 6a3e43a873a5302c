//===- CheckpointFolder.h - Files of a checkpoint directory -----*- C++ -*-===//
//
// The names and the files in a directory of checkpoints (Checkpoint.h), and the removal of those
// that are no longer needed.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_CHECKPOINTFOLDER_H
#define PE_RUNTIME_TRAIN_TRAINER_CHECKPOINTFOLDER_H

#include "runtime/core/Safetensors.h"

#include <optional>
#include <string_view>

namespace pe::train {

inline constexpr const char *kModelFile = "model.safetensors";
inline constexpr const char *kOptimizerFile = "optimizer.safetensors";
/// Metadata keys: the SHA-256 of a file's tensors and, in the optimizer file, that of its model
/// file.
inline constexpr const char *kDigest = "pe.sha256";
inline constexpr const char *kModelDigest = "pe.model.sha256";

/// Returns the path of DIR/latest.
std::string latestFile(const std::string &directory);

/// Returns N for "step-N" or "step-N.1", and nothing for other names.
std::optional<int64_t> stepOf(std::string_view name);

/// Reads the directory name in DIR/latest. It must contain nothing else, because it becomes part of
/// paths.
Expected<std::string> latestName(const std::string &directory);

/// Returns an entry of the metadata, or an empty string.
std::string entryOf(const Safetensors &file, const std::string &key);

/// Reads a file of a checkpoint, and checks that its tensors are those that were written.
Expected<Safetensors> readUndamaged(const std::string &path);

/// Removes all checkpoints except `current` and the `keep` - 1 before it, and the leftovers of
/// killed processes.
void removeOthers(const std::string &directory, const std::string &current, int64_t keep);

/// Returns the SHA-256 of a file's tensors, names and bytes, which is stored as metadata
/// 'pe.sha256'.
std::string digestOf(const Safetensors &file);

/// Returns the model file of the latest checkpoint in a directory of pe train, or of DIR/step-N
/// itself. Returns an error if there is none.
Expected<std::string> modelFileOf(const std::string &folder);

/// Returns true if DIR/latest exists, even if it cannot be read.
bool hasCheckpoint(const std::string &directory);

/// Removes the leftovers of a killed process: partially written files, and checkpoints other than
/// the latest and the `keep` - 1 before it. Files that saveCheckpoint does not write are kept.
void removeLeftovers(const std::string &directory, int64_t keep = 1);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_CHECKPOINTFOLDER_H
