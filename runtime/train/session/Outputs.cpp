//===- Outputs.cpp - Protection of existing outputs -----------------------===//
#include "runtime/train/session/Outputs.h"

#include "runtime/core/Error.h"
#include "runtime/train/trainer/Checkpoint.h"

#include <filesystem>

namespace pe::train {
namespace {

namespace fs = std::filesystem;

/// Returns true if replacing the file would lose data. Pipes and devices are written to, not
/// replaced.
bool holdsText(const std::string &file) {
  std::error_code failure;
  return fs::is_regular_file(file, failure) && fs::file_size(file, failure) > 0;
}

Error alreadyThere(const std::string &flag, const std::string &found) {
  return makeError(flag, ": expected a new path, found ", found,
                   "; --resume continues it, --overwrite replaces it");
}

} // namespace

Status checkOutputs(const TrainConfig &config) {
  if (config.overwrite && config.resume)
    return makeError("expected --resume or --overwrite, found both");
  if (config.overwrite || config.resume)
    return Status::success();
  if (hasCheckpoint(config.checkpoint))
    return alreadyThere("--checkpoint",
                        "an earlier run's checkpoint in '" + config.checkpoint + "'");
  for (const auto &[flag, file] : {std::pair("--log", &config.log), {"--trace", &config.trace}})
    if (holdsText(*file))
      return alreadyThere(flag, "the file '" + *file + "'");
  return Status::success();
}

} // namespace pe::train
