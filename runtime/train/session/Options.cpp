//===- Options.cpp - The flags of `pe train` ------------------------------===//
//
// Applies the table of flags (Flags.h) to given values and the configuration file.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Options.h"
#include "runtime/core/File.h"
#include "runtime/plan/JsonText.h"
#include "runtime/train/session/Flags.h"

#include <limits>

namespace pe::train {
namespace {

Status checkGiven(const std::string &name, const std::string &value) {
  if (Status known = checkFlagName(name); !known)
    return known;
  if (value.empty() && (name == "seeds" || name == "sweep"))
    return makeError("--", name, ": expected ",
                     name == "seeds" ? "seeds such as 0,1,2" : "KEY=A,B,C", ", found nothing");
  return Status::success();
}

/// Adds the keys of a configuration file. Values that are given already take precedence.
Status readConfigFile(const std::string &path, FlagValues &values) {
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
    values.emplace(key, value.is_string() ? value.get<std::string>() : value.dump());
    if (Status known = checkFlagName(key); !known)
      return Status(known.takeError().within(path));
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
Status checkUse(const FlagValues &values, const TrainConfig &config) {
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

Status checkFlagName(const std::string &name) {
  std::vector<std::string> names;
  for (const Flag &flag : trainFlags())
    names.push_back(flag.name);
  if (std::ranges::count(names, name))
    return Status::success();
  const std::string hint = suggestChoice(name, names);
  return makeError("unknown flag '", name, "'",
                   hint.empty() ? "; `pe train --help` lists them" : hint);
}

Metadata trainDefaults() {
  Metadata defaults;
  for (const Flag &flag : trainFlags())
    if (flag.identity)
      defaults["pe.train." + flag.name] = flag.preset;
  return defaults;
}

Expected<TrainOptions> readTrainOptions(FlagValues values) {
  TrainOptions options;
  if (auto config = values.extract("config"))
    if (Status status = readConfigFile(config.mapped(), values); !status)
      return status.takeError();
  for (const auto &[name, value] : values)
    if (Status status = checkGiven(name, value); !status)
      return status.takeError();
  for (const Flag &flag : trainFlags()) {
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

} // namespace pe::train
