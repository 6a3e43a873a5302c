//===- Options.cpp - The flags of `pe train` ------------------------------===//
//
// Applies the table of flags (Flags.h) to the command line and the configuration file.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Options.h"
#include "runtime/core/File.h"
#include "runtime/plan/JsonText.h"
#include "runtime/train/session/Flags.h"

#include <limits>
#include <set>

namespace pe::train {
namespace {

std::vector<Flag> makeFlags() {
  std::vector<Flag> all = flagsOfTask();
  for (auto more : {flagsOfModel, flagsOfSteps, flagsOfOptimizers, flagsOfChanges, flagsOfRun})
    for (Flag &flag : more())
      all.push_back(std::move(flag));
  return all;
}

const std::vector<Flag> &flags() {
  static const std::vector<Flag> table = makeFlags();
  return table;
}

const Flag *findFlag(const std::string &name) {
  for (const Flag &flag : flags())
    if (flag.name == name)
      return &flag;
  return nullptr;
}

using Values = std::map<std::string, std::string>;

Status addValue(Values &values, const std::string &name, const std::string &value,
                const std::string &where) {
  if (!findFlag(name)) {
    std::vector<std::string> names;
    for (const Flag &flag : flags())
      names.push_back("--" + flag.name);
    const std::string hint = suggestChoice("--" + name, names);
    return makeError("unknown ", where, hint.empty() ? "; `pe train --help` lists them" : hint);
  }
  if (value.empty() && (name == "seeds" || name == "sweep"))
    return makeError(where, ": expected ", name == "seeds" ? "seeds such as 0,1,2" : "KEY=A,B,C",
                     ", found nothing");
  values[name] = value;
  return Status::success();
}

/// Adds the keys of a configuration file as values. Flags of the command line take precedence.
Status readConfigFile(const std::string &path, Values &values) {
  auto content = readFile(path);
  if (!content)
    return content.takeError();
  auto object = plan::parseJson(*content, path);
  if (!object)
    return object.takeError();
  if (!object->is_object())
    return makeError("expected a JSON object with flags as keys in '", path, "', found ",
                     plan::shortened(*object));
  for (const auto &[key, value] : object->items()) {
    if (!value.is_string() && !value.is_number())
      return makeError("expected a number or a string for '", key, "' in '", path, "', found ",
                       plan::shortened(value));
    std::string spelled = value.is_string() ? value.get<std::string>() : value.dump();
    if (values.count(key))
      continue;
    if (Status status = addValue(values, key, spelled, "key '" + key + "' in '" + path + "'");
        !status)
      return status;
  }
  return Status::success();
}

/// Returns advice on an argument that does not have the form "--name=value".
std::string suggestFlag(const std::string &argument) {
  const std::string text =
      argument.substr(std::min(argument.find_first_not_of('-'), argument.size()));
  if (findFlag(text.substr(0, text.find('='))))
    return "; did you mean '--" + text + "'?";
  return argument.starts_with("-") ? "" : "; an encoding is written --encoding=" + argument;
}

/// Flags given on the command line; --config's file, --resume, --overwrite and --help are kept
/// apart.
Status readArguments(const std::vector<std::string> &arguments, Values &values,
                     std::string &configFile, TrainOptions &options) {
  std::set<std::string> seen;
  for (const std::string &argument : arguments) {
    size_t equals = argument.find('=');
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--resume" || argument == "--resume=if-any") {
      options.config.resume = true;
      options.config.resumeIfAny = equals != std::string::npos;
    } else if (argument == "--overwrite") {
      options.config.overwrite = true;
    } else if (argument.starts_with("--resume=") || argument.starts_with("--help=") ||
               argument.starts_with("--overwrite=")) {
      return makeError(argument.substr(0, equals), ": expected no value",
                       argument.starts_with("--resume=") ? " or 'if-any'" : "", ", found '",
                       argument.substr(equals + 1), "'");
    } else if (argument.starts_with("--") && findFlag(argument.substr(2))) {
      return makeError(argument, ": expected a value, found none; write ", argument, "=VALUE");
    } else if (!argument.starts_with("--") || equals == std::string::npos) {
      return makeError("expected --name=value, found '", argument, "'", suggestFlag(argument));
    } else {
      std::string name = argument.substr(2, equals - 2), value = argument.substr(equals + 1);
      // Each sweep adds a dimension.
      if (auto before = values.find(name); name == "sweep" && before != values.end())
        value = before->second + ";" + value;
      else if (!seen.insert(name).second)
        return makeError("--", name, " is given twice");
      if (name == "config") {
        configFile = value;
        continue;
      }
      if (Status status = addValue(values, name, value, "flag '--" + name + "'"); !status)
        return status;
    }
  }
  return Status::success();
}

/// Checks the names of tasks before any data is read.
Status checkData(const TrainConfig &config) {
  for (const PhaseConfig &phase : config.phases)
    if (Task::isName(phase.data))
      if (auto task = Task::parse(phase.data); !task)
        return task.takeError().within("--data");
  return Status::success();
}

/// Checks that the tokens of a batch can be counted in 32 bits.
Status checkSizes(const TrainConfig &config) {
  constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();
  for (size_t phase = 0; phase < config.phases.size(); ++phase) {
    const int64_t length = config.sequenceOf(phase);
    if (length > kMostTokens / std::max<int64_t>(config.batch, 1))
      return makeError("expected at most ", kMostTokens,
                       " tokens in a batch, found --batch=", config.batch, " times ", length,
                       " (--seq)");
  }
  for (int64_t length : config.evaluation.lengths)
    if (length > kMostTokens)
      return makeError("--eval-lengths: expected at most ", kMostTokens, ", found ", length);
  return Status::success();
}

/// Rejects flags for features that the run does not use, which would be ignored silently.
Status checkUse(const Values &values, const TrainConfig &config) {
  const bool plateau = config.reinit.enabled && config.reinit.when == ReinitTime::Plateau;
  for (const auto &[name, value] : values) {
    if (name.starts_with("muon-") && config.optimizer.kind != OptimizerKind::Muon)
      return makeError("expected --optimizer=muon with --", name, ", found adamw");
    if (name.starts_with("plateau-") && !plateau)
      return makeError("expected --reinit-iters and --reinit-at=plateau with --", name,
                       ", found neither or one of them");
    if (name == "from-optimizer" && config.from.empty())
      return makeError("expected --from=DIR with --from-optimizer, found none");
    if (name == "redo-tau" && !config.usesRedo())
      return makeError("expected --redo-interval with --redo-tau, found none");
    if (name == "dash-scope" && !config.usesDash(Dash::Published) &&
        !config.usesDash(Dash::RowDecay))
      return makeError("expected --dash=published or rowdecay with --dash-scope, found off");
  }
  if (config.usesDash(Dash::RowDecay) != (config.plasticity.dashInterval > 0))
    return makeError("expected --dash=rowdecay and --dash-interval together, found one of them");
  if (config.usesDash(Dash::Published) && config.phases.size() < 2 && config.from.empty())
    return makeError("--dash=published: expected --phases with at least two phases, since it is "
                     "applied between them, found one");
  for (const PhaseConfig &phase : config.phases)
    if (phase.reinit && *phase.reinit && !config.reinit.enabled)
      return makeError("--phases: expected --reinit-iters with the field 'reinit', found none");
  return Status::success();
}

} // namespace

std::vector<std::string> splitList(const std::string &list) {
  std::vector<std::string> parts;
  int depth = 0;
  for (char c : list.empty() ? list : list + ",") {
    depth += (c == '(' || c == '<') - (c == ')' || c == '>');
    if (parts.empty())
      parts.emplace_back();
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back().push_back(c);
  }
  if (!parts.empty())
    parts.pop_back();
  return parts;
}

std::vector<std::string> trainFlags() {
  std::vector<std::string> names;
  for (const Flag &flag : flags())
    names.push_back(flag.name);
  return names;
}

Metadata trainDefaults() {
  Metadata defaults;
  for (const Flag &flag : flags())
    if (flag.identity)
      defaults["pe.train." + flag.name] = flag.preset;
  return defaults;
}

Expected<TrainOptions> parseTrainOptions(const std::vector<std::string> &arguments,
                                         const std::map<std::string, std::string> &replaced) {
  TrainOptions options;
  Values values;
  std::string configFile;
  if (Status status = readArguments(arguments, values, configFile, options); !status)
    return status.takeError();
  if (options.help)
    return options;
  if (!configFile.empty())
    if (Status status = readConfigFile(configFile, values); !status)
      return status.takeError();
  for (const auto &[name, value] : replaced)
    values[name] = value;
  for (const Flag &flag : flags()) {
    auto given = values.find(flag.name);
    const std::string &value = given == values.end() ? flag.preset : given->second;
    if (Status status = flag.set(options.config, value); !status)
      return status.takeError().within("--" + flag.name);
    if (flag.identity)
      options.identity["pe.train." + flag.name] = value;
  }
  if (Status status = checkReinit(options.config.reinit); !status)
    return status.takeError();
  if (Status status = checkData(options.config); !status)
    return status.takeError();
  if (Status status = checkSizes(options.config); !status)
    return status.takeError();
  if (Status status = check(options.config.model); !status)
    return status.takeError();
  if (Status status = checkUse(values, options.config); !status)
    return status.takeError();
  if (options.config.resume && options.config.checkpoint.empty())
    return makeError("expected --checkpoint=DIR with --resume, found none");
  return options;
}

std::string trainHelp() {
  std::string text =
      "Train a small language model with an encoding\nUsage: pe train [--NAME=VALUE ...]\n\n";
  for (const Flag &flag : flags()) {
    std::string line = "  --" + flag.name + "=" + flag.preset;
    line.resize(std::max<size_t>(line.size() + 2, 40), ' ');
    text += line + flag.help + "\n";
  }
  return text +
         "  --config=FILE                         JSON object with these flags as keys\n"
         "  --resume                              resume from the latest checkpoint;\n"
         "                                        =if-any: if there is one\n"
         "  --overwrite                           replace the --checkpoint, --log and --trace of\n"
         "                                        an earlier run; otherwise that is an error\n\n"
         "Example: pe train --encoding=FILE.mlir --steps=200 --log=run.jsonl\n";
}

} // namespace pe::train
