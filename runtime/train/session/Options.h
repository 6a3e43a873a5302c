//===- Options.h - The flags of `pe train` ----------------------*- C++ -*-===//
//
// One table gives every flag's name, default, meaning and parser; the help
// text, the command line and the configuration file (a JSON object with the flags as keys) all
// come from it. Flags of docs/contract.md that are not built yet accept their default and refuse
// anything else.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_OPTIONS_H
#define PE_RUNTIME_TRAIN_SESSION_OPTIONS_H

#include "runtime/train/session/Config.h"
#include "runtime/train/trainer/Checkpoint.h"

namespace pe::train {

struct TrainOptions {
  TrainConfig config;
  /// The flags that determine the result, by name: a checkpoint must agree with them.
  Metadata identity;
  /// --help was given; nothing else was read.
  bool help = false;
};

/// Reads "--name=value" arguments; what is unknown or meaningless is an error.
/// `replaced` are flags by name whose values replace those of the arguments.
Expected<TrainOptions> parseTrainOptions(const std::vector<std::string> &arguments,
                                         const std::map<std::string, std::string> &replaced = {});

/// The parts of "a=1,b=uniform(0,2)" between commas that are in no parentheses or angle brackets.
std::vector<std::string> splitList(const std::string &list);

/// The name of every flag.
std::vector<std::string> trainFlags();

/// The default of every flag that determines the result.
Metadata trainDefaults();

std::string trainHelp();

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_OPTIONS_H
