//===- Options.h - The flags of `pe train` ----------------------*- C++ -*-===//
//
// One table (Flags.h) defines the name, default, meaning and parser of every flag. The options of
// `pe train` and the configuration file (a JSON object with the flags as keys) are derived from it.
// Flags whose other values pe train does not support accept only their default (`only`).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_OPTIONS_H
#define PE_RUNTIME_TRAIN_SESSION_OPTIONS_H

#include "runtime/train/session/Config.h"
#include "runtime/train/trainer/Checkpoint.h"

namespace pe::train {

/// Values of flags, by name without "--".
using FlagValues = std::map<std::string, std::string>;

struct TrainOptions {
  TrainConfig config;
  /// The flags that determine the result, by name. A checkpoint must agree with them.
  Metadata identity;
};

/// Reads the values of flags; "config" names a configuration file with more of them. An unknown
/// flag or an invalid value is an error.
Expected<TrainOptions> readTrainOptions(FlagValues values);

/// Returns an error with the nearest name if there is no such flag.
Status checkFlagName(const std::string &name);

/// Returns the default of every flag that determines the result.
Metadata trainDefaults();

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_OPTIONS_H
