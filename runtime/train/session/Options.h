//===- Options.h - The flags of `pe train` ----------------------*- C++ -*-===//
//
// One table defines the name, default, meaning and parser of every flag. The help text, the command
// line and the configuration file (a JSON object with the flags as keys) are derived from it. Flags
// of docs/contract.md that are not built yet accept only their default.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_OPTIONS_H
#define PE_RUNTIME_TRAIN_SESSION_OPTIONS_H

#include "runtime/train/session/Config.h"
#include "runtime/train/trainer/Checkpoint.h"

namespace pe::train {

struct TrainOptions {
  TrainConfig config;
  /// The flags that determine the result, by name. A checkpoint must agree with them.
  Metadata identity;
  /// True if --help was given; the other arguments are then not parsed.
  bool help = false;
};

/// Parses "--name=value" arguments. An unknown flag or an invalid value is an error. `replaced`
/// overrides the values of flags, by name.
Expected<TrainOptions> parseTrainOptions(const std::vector<std::string> &arguments,
                                         const std::map<std::string, std::string> &replaced = {});

/// Splits "a=1,b=uniform(0,2)" at the commas that are not inside parentheses or angle brackets.
std::vector<std::string> splitList(const std::string &list);

/// Returns the names of all flags.
std::vector<std::string> trainFlags();

/// Returns the default of every flag that determines the result.
Metadata trainDefaults();

std::string trainHelp();

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_OPTIONS_H
