//===- Options.cpp - The flags of `pe train` ------------------------------===//
//
// The table of flags, and its readers.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Options.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

namespace pe::train {
namespace {

using Setter = std::function<Status(TrainConfig &, const std::string &)>;

struct Flag {
  std::string name;
  /// A new flag that determines the result begins with what earlier versions did: a checkpoint that
  /// lacks the flag is taken to have its preset.
  std::string preset;
  std::string help;
  Setter set;
  /// Whether the result of a run depends on it.
  bool identity = true;
};

template <typename Number> Expected<Number> parseNumber(const std::string &text) {
  Number value{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return makeError("expected ", std::is_integral_v<Number> ? "an integer" : "a number",
                     ", found '", text, "'");
  return value;
}

/// A flag that is a number of at least `least` somewhere in the configuration.
template <typename Number, typename Access> Setter number(Number least, Access access) {
  return [=](TrainConfig &config, const std::string &text) -> Status {
    auto value = parseNumber<Number>(text);
    if (!value)
      return value.takeError();
    if constexpr (std::is_floating_point_v<Number>)
      if (!std::isfinite(*value))
        return makeError("expected a finite number, found '", text, "'");
    if (!(*value >= least))
      return makeError("expected at least ", least, ", found ", text);
    access(config) = *value;
    return Status::success();
  };
}

/// A number from 0 to 1, or from 0 to below 1.
enum class Range : uint8_t { Closed, HalfOpen };
template <typename Access> Setter fraction(Range range, Access access) {
  return [=](TrainConfig &config, const std::string &text) -> Status {
    auto value = parseNumber<double>(text);
    if (!value)
      return value.takeError();
    const bool below = range == Range::Closed ? *value <= 1 : *value < 1;
    if (!(*value >= 0 && below))
      return makeError("expected a number from 0 to ", range == Range::Closed ? "1" : "below 1",
                       ", found '", text, "'");
    access(config) = *value;
    return Status::success();
  };
}

template <typename Access> Setter text(Access access) {
  return [=](TrainConfig &config, const std::string &value) -> Status {
    access(config) = value;
    return Status::success();
  };
}

template <typename Parse, typename Access> Setter choice(Parse parse, Access access) {
  return [=](TrainConfig &config, const std::string &value) -> Status {
    auto parsed = parse(value);
    if (!parsed)
      return parsed.takeError();
    access(config) = *parsed;
    return Status::success();
  };
}

/// A flag whose other values are not built yet; `why` says what to use instead.
Setter only(const std::string &value, const std::string &why = "the rest is not built yet") {
  return [=](TrainConfig &, const std::string &text) -> Status {
    if (text != value)
      return makeError("expected ", value.empty() ? "nothing" : "'" + value + "'", " (", why,
                       "), found '", text, "'");
    return Status::success();
  };
}

template <typename Access> Setter onOff(Access access) {
  return [=](TrainConfig &config, const std::string &value) -> Status {
    if (value != "on" && value != "off")
      return makeError("expected 'on' or 'off', found '", value, "'");
    access(config) = value == "on";
    return Status::success();
  };
}

constexpr const char *kOnGpus =
    "pe train runs on the CPU in float32; GPUs and other types are for the PyTorch package, "
    "which is not built yet";

Expected<NormKind> parseNorm(const std::string &name) {
  if (name == "rms")
    return NormKind::Rms;
  if (name == "layer")
    return NormKind::Layer;
  return makeError("expected ", joinChoices({"rms", "layer"}), ", found '", name, "'");
}

Status setActivation(TrainConfig &config, const std::string &value) {
  if (!activationSource(value) && !value.ends_with(".mlir")) {
    std::vector<std::string> choices = activationNames();
    choices.emplace_back("FILE.mlir");
    return makeError("expected ", joinChoices(choices), ", found '", value, "'");
  }
  config.activation = value;
  return Status::success();
}

Status setCheck(TrainConfig &config, const std::string &value) {
  using Check = TrainConfig::Check;
  if (!value.empty() && value != "gradients" && value != "overfit")
    return makeError("expected ", joinChoices({"gradients", "overfit"}), ", found '", value, "'");
  config.check = value.empty()          ? Check::None
                 : value == "gradients" ? Check::Gradients
                                        : Check::Overfit;
  return Status::success();
}

Status setProjections(TrainConfig &config, const std::string &value) {
  if (value != "scaled" && value != "zero")
    return makeError("expected ", joinChoices({"scaled", "zero"}), ", found '", value, "'");
  config.model.zeroProjections = value == "zero";
  return Status::success();
}

/// The parts of "a=1,b=uniform(0,2)" between commas that are in no parentheses.
std::vector<std::string> splitList(const std::string &list) {
  std::vector<std::string> parts;
  int depth = 0;
  for (char c : list.empty() ? list : list + ",") {
    depth += (c == '(') - (c == ')');
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

/// NAME=VALUE,...
Expected<std::map<std::string, std::string>> parseAssignments(const std::string &list) {
  std::map<std::string, std::string> result;
  for (const std::string &part : splitList(list)) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      return makeError("expected NAME=VALUE, found '", part, "'");
    if (!result.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      return makeError("'", part.substr(0, equals), "' is given twice");
  }
  return result;
}

Status setInitialTexts(TrainConfig &config, const std::string &list) {
  auto texts = parseAssignments(list);
  if (!texts)
    return texts.takeError();
  config.initialValues = *std::move(texts);
  return Status::success();
}

Status setAttributes(TrainConfig &config, const std::string &list) {
  auto values = parseAssignments(list);
  if (!values)
    return values.takeError();
  config.attributes.assign(values->begin(), values->end());
  return Status::success();
}

Status setLengths(TrainConfig &config, const std::string &list) {
  config.evaluation.lengths.clear();
  for (size_t begin = 0; begin < list.size();) {
    size_t comma = std::min(list.find(',', begin), list.size());
    auto length = parseNumber<int64_t>(list.substr(begin, comma - begin));
    if (!length)
      return length.takeError();
    if (*length < 1)
      return makeError("expected lengths of at least 1, found ", *length);
    config.evaluation.lengths.push_back(*length);
    begin = comma + 1;
  }
  if (config.evaluation.lengths.empty())
    return makeError("expected lengths such as 256,512, found none");
  return Status::success();
}

Status setReinitIterations(TrainConfig &config, const std::string &text) {
  auto count = parseNumber<int>(text);
  if (!count)
    return count.takeError();
  config.reinit.enabled = *count != 0;
  config.reinit.change.settings.iterations = *count;
  return Status::success();
}

/// The count is free where it is what the user decides: in the published operators.
Status checkReinit(const ReinitConfig &reinit) {
  constexpr int kMostSteps = 1000;
  const int count = reinit.change.settings.iterations;
  const bool project = reinit.change.method == reinit::Method::Project;
  if (project && reinit.change.settings.engine == reinit::Engine::Cubic) {
    if (count >= 0 && count <= kMostSteps)
      return Status::success();
    return makeError("--reinit-iters: expected 0 (no reinit) to ", kMostSteps, " steps, found ",
                     count);
  }
  const bool qdwh = project && reinit.change.settings.engine == reinit::Engine::Qdwh;
  if (count == 0 || count == (qdwh ? 4 : 1))
    return Status::success();
  return makeError("--reinit-iters: expected 0 (no reinit) or ",
                   qdwh ? "4 (the iterations of engine qdwh)" : "1 (reinit)", ", found '", count,
                   "'");
}

Status setShrink(TrainConfig &config, const std::string &text) {
  auto share = parseNumber<double>(text);
  if (!share)
    return share.takeError();
  if (!(*share >= 0 && *share <= 1))
    return makeError("expected 0 to 1, found ", text);
  config.reinit.change.shrink = *share;
  return Status::success();
}

Status setReinitTime(TrainConfig &config, const std::string &text) {
  if (text == "phase" || text == "plateau") {
    config.reinit.when = text == "phase" ? ReinitTime::Phase : ReinitTime::Plateau;
    return Status::success();
  }
  auto step = parseNumber<int64_t>(text);
  if (!step || *step < 0)
    return makeError("expected 'phase', 'plateau' or the number of a step, found '", text, "'");
  config.reinit.when = ReinitTime::Step;
  config.reinit.step = *step;
  return Status::success();
}

Status setWeightDecay(TrainConfig &config, const std::string &text) {
  Status status = number<double>(
      0, [](TrainConfig &c) -> auto & { return c.optimizer.adamw.weightDecay; })(config, text);
  config.optimizer.muon.weightDecay = config.optimizer.adamw.weightDecay;
  return status;
}

/// [{"data": DIR, "steps": N}, ...]
Status setPhases(TrainConfig &config, const std::string &path) {
  if (path.empty())
    return Status::success();
  auto content = readFile(path);
  if (!content)
    return content.takeError();
  nlohmann::json list = nlohmann::json::parse(*content, nullptr, /*allow_exceptions=*/false);
  constexpr uint64_t kMostSteps = uint64_t(1) << 53; // of the whole run
  uint64_t left = kMostSteps;
  std::vector<PhaseConfig> phases;
  bool wellFormed = list.is_array() && !list.empty();
  for (const nlohmann::json &entry : wellFormed ? list : nlohmann::json::array()) {
    wellFormed = entry.is_object() && entry.contains("steps") &&
                 entry["steps"].is_number_unsigned() && entry["steps"].get<uint64_t>() > 0 &&
                 (!entry.contains("data") || entry["data"].is_string());
    if (!wellFormed)
      break;
    const auto steps = entry["steps"].get<uint64_t>();
    if (steps > left)
      return makeError("expected at most 2^53 steps in all phases of '", path, "', found more");
    left -= steps;
    phases.push_back({entry.value("data", std::string()), static_cast<int64_t>(steps)});
  }
  if (!wellFormed)
    return makeError("expected a JSON list of {\"data\": DIR, \"steps\": N} with N > 0 in '", path,
                     "', found something else");
  config.phases = std::move(phases);
  return Status::success();
}

using C = TrainConfig;

// clang-format off
/// Flags about what is learned.
std::vector<Flag> flagsOfTask() {
  return {
    {"data", "", "directory of text files; every tenth is held out (default: Python's library)",
     text([](C &c) -> auto & { return c.phases[0].data; })},
    {"encoding", "none", ".mlir file with the entry @attention, or none",
     text([](C &c) -> auto & { return c.encoding; })},
    {"vocab", "char", "tokens of the text: char (96 characters) or byte",
     choice(parseVocabulary, [](C &c) -> auto & { return c.vocabulary; })},
    {"objective", "causal", "what is learned: causal predicts the next token, masked some that are "
     "hidden (15 %: 80 % as a mask, 10 % as another, 10 % as they are), for encodings that look "
     "both ways", choice(parseObjective, [](C &c) -> auto & { return c.objective; })},
  };
}

/// Flags about the model.
std::vector<Flag> flagsOfModel() {
  return {
    {"layers", "2",
     "blocks of attention and feed-forward layer",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.layers; })},
    {"dim", "64", "width of the residual stream",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.dim; })},
    {"heads", "4",
     "query heads; divides --dim",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.heads; })},
    {"kv-heads", "4", "heads of keys and values; divides --heads",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.keyHeads; })},
    {"activation", "relu2",
     "of the feed-forward layer: relu2 (the square of ReLU), gelu, swiglu or a .mlir file with "
     "@activation", setActivation},
    {"mlp-hidden-mult", "4",
     "hidden width of the feed-forward layer, in units of --dim; 0: 4, with a gate 8/3 (rounded up "
     "to blocks of 256, or of 8 below 256)",
     number<int64_t>(0, [](C &c) -> auto & { return c.model.mlpMultiple; })},
    {"norm", "rms", "normalisation before every layer: rms or layer, without gain",
     choice(parseNorm, [](C &c) -> auto & { return c.model.norm; })},
    {"tie-head", "off", "on: the output head's matrix is the embedding's",
     onOff([](C &c) -> auto & { return c.model.tieHead; })},
    {"share-encoding", "off", "on: all layers use one set of the encoding's parameters",
     onOff([](C &c) -> auto & { return c.model.shareEncoding; })},
    {"init-proj", "scaled", "how the matrices that write to the residual stream start: scaled "
     "(by 1 / sqrt(2 layers)) or zero", setProjections},
    {"init", "", "NAME=VALUE,...: how parameters of the encoding start, in place of their pe.init",
     setInitialTexts},
    {"attr", "",
     "NAME=VALUE,...: attributes of the encoding's file (base, factor ...), in place of its own",
     setAttributes},
    {"freeze", "", "regular expression (POSIX extended) of parameters that keep their values",
     text([](C &c) -> auto & { return c.freeze; })},
    {"dropout", "0", "share of numbers that fall out of the embedding, of what layers add to the "
     "residual stream, and of attention's probabilities where its file has no dropout of its own",
     fraction(Range::HalfOpen, [](C &c) -> auto & { return c.model.dropout; })},
    {"recompute", "off", "on: backward computes a layer's activations again, for less memory and "
     "the same bits", onOff([](C &c) -> auto & { return c.model.recompute; }), false},
  };
}

/// Flags about the steps.
std::vector<Flag> flagsOfSteps() {
  return {
    {"seq", "256", "characters of a training sequence",
     number<int64_t>(1, [](C &c) -> auto & { return c.sequence; })},
    {"batch", "16", "sequences of a step",
     number<int64_t>(1, [](C &c) -> auto & { return c.batch; })},
    {"steps", "600",
     "training steps", number<int64_t>(1, [](C &c) -> auto & { return c.phases[0].steps; })},
    {"seed", "0",
     "of initial values and of the order of the text",
     number<uint64_t>(0, [](C &c) -> auto & { return c.seed; })},
    {"dtype", "f32", "type of the computation", only("f32", kOnGpus)},
    {"phases", "", "JSON file with a list of {\"data\": DIR, \"steps\": N}, instead of --data and "
     "--steps", setPhases},
  };
}

/// Flags about the update of the weights.
std::vector<Flag> flagsOfOptimizers() {
  return {
    {"optimizer", "adamw", "adamw, or muon for the matrices of attention and feed-forward layers "
     "(the rest stays AdamW's)",
     choice(parseOptimizer, [](C &c) -> auto & { return c.optimizer.kind; })},
    {"lr", "0.003", "peak learning rate of AdamW",
     number<double>(0, [](C &c) -> auto & { return c.learningRate; })},
    {"schedule", "linear", "linear (constant, then down over the second half), cosine, constant or "
     "wsd (constant, then down over the last fifth by 1 - sqrt)",
     choice(parseDecay, [](C &c) -> auto & { return c.decay; })},
    {"final-lr", "0.1", "the learning rates at the end, as a fraction of their peaks",
     fraction(Range::Closed, [](C &c) -> auto & { return c.finalRate; })},
    {"warmup", "40", "steps of linear warm-up at the start of every phase",
     number<int64_t>(0, [](C &c) -> auto & { return c.warmup; })},
    {"accumulate", "1", "batches of a step, whose mean gradient it uses",
     number<int64_t>(1, [](C &c) -> auto & { return c.accumulate; })},
    {"weight-decay", "0.1", "decay of weights; parameters with pe.decay = false have none",
     setWeightDecay},
    {"clip", "1", "norm that AdamW's gradients are clipped to; 0: never",
     number<double>(0, [](C &c) -> auto & { return c.optimizer.adamw.clip; })},
    {"muon-lr", "0.02", "peak learning rate of Muon",
     number<double>(0, [](C &c) -> auto & { return c.optimizer.muon.learningRate; })},
    {"muon-momentum", "0.95", "part of its momentum that Muon keeps in a step",
     fraction(Range::HalfOpen, [](C &c) -> auto & { return c.optimizer.muon.momentum; })},
    {"muon-orth", "quintic", "how momentum is made orthogonal: five steps of quintic or "
     "polar-express, or exactly by qdwh",
     choice(parseMuonOrthogonal, [](C &c) -> auto & { return c.optimizer.muon.orthogonal; })},
    {"muon-adjust", "original", "size of Muon's steps: original, sqrt(max(1, outputs/inputs)), or "
     "match-rms, as large as AdamW's: 0.2 sqrt(max(outputs, inputs))",
     choice(parseMuonAdjust, [](C &c) -> auto & { return c.optimizer.muon.adjust; })},
  };
}

/// Flags about changes to the weights outside of steps, and what a run reads, writes and shows.
std::vector<Flag> flagsOfRun() {
  return {
    {"reinit-iters", "0",
     "0: off; else weights are changed at --reinit-at, and this is 4 with engine qdwh, the exact "
     "number of steps with cubic, and 1 otherwise", setReinitIterations},
    {"reinit-method", "project", "project (onto scaled isometries), or as baselines shrink-perturb "
     "or fresh (initial values)",
     choice(reinit::parseMethod, [](C &c) -> auto & { return c.reinit.change.method; })},
    {"shrink", "0.4", "share of the old weights in shrink-perturb; the rest is fresh", setShrink},
    {"reinit-engine", "qdwh", "how the projection is computed: qdwh (float64, exact), quintic "
     "(float32, products only) or cubic (the published steps)",
     choice(reinit::parseEngine, [](C &c) -> auto & { return c.reinit.change.settings.engine; })},
    {"reinit-norm", "fro", "what engine cubic divides by first: fro or spectral",
     choice(reinit::parseNorm, [](C &c) -> auto & { return c.reinit.change.settings.norm; })},
    {"reinit-target", "all", "which weights: all, attention or mlp",
     choice(reinit::parseTarget, [](C &c) -> auto & { return c.reinit.change.target; })},
    {"reinit-scale", "muon", "scale of the isometries: muon, none, mean-sigma or fro",
     choice(reinit::parseScale, [](C &c) -> auto & { return c.reinit.change.settings.scale; })},
    {"reinit-at", "phase", "phase (between phases), plateau or the number of a step",
     setReinitTime},
    {"plateau-interval", "20", "steps between the evaluations that look for a plateau",
     number<int64_t>(1, [](C &c) -> auto & { return c.reinit.plateauInterval; })},
    {"plateau-window", "8", "evaluations that a plateau is found by; as many follow each reinit",
     number<int64_t>(3, [](C &c) -> auto & { return c.reinit.plateauWindow; })},
    {"redo-interval", "0", "steps after which dormant neurons of feed-forward layers are made new; "
     "0: never", number<int64_t>(0, [](C &c) -> auto & { return c.plasticity.redoInterval; })},
    {"redo-tau", "0.025", "a neuron is dormant whose mean activity is at most this share of its "
     "layer's", fraction(Range::HalfOpen, [](C &c) -> auto & { return c.plasticity.redoTau; })},
    {"dash", "off", "off, published (before every phase but the first, rows of matrices shrink by "
     "their cosine with minus the gradient of the new text) or rowdecay (every --dash-interval "
     "steps, rows along the last gradient shrink a little)",
     choice(parseDash, [](C &c) -> auto & { return c.plasticity.dash; })},
    {"dash-interval", "0", "steps between shrinkings by rowdecay",
     number<int64_t>(0, [](C &c) -> auto & { return c.plasticity.dashInterval; })},
    {"dash-scope", "all", "which matrices shrink: all, or those that AdamW updates (adamw)",
     choice(parseDashScope, [](C &c) -> auto & { return c.plasticity.dashScope; })},
    {"eval-lengths", "256,512,1024,2048", "contexts the same held-out characters are scored with",
     setLengths, false},
    {"eval-interval", "0", "steps between evaluations; 0: only after the last step",
     number<int64_t>(0, [](C &c) -> auto & { return c.evaluationInterval; }), false},
    {"target", "cpu", "where the model is trained", only("cpu", kOnGpus), false},
    {"threads", "0", "0: all cores; results do not depend on it",
     number<int>(0, [](C &c) -> auto & { return c.threads; }), false},
    {"checkpoint", "", "directory for checkpoints",
     text([](C &c) -> auto & { return c.checkpoint; }), false},
    {"checkpoint-interval", "200", "steps between checkpoints",
     number<int64_t>(1, [](C &c) -> auto & { return c.checkpointInterval; }), false},
    {"keep", "1", "checkpoints that stay: the latest and those before it",
     number<int64_t>(1, [](C &c) -> auto & { return c.keepCheckpoints; }), false},
    {"log", "", "JSON lines: loss, norms, learning rate and every parameter of the encoding",
     text([](C &c) -> auto & { return c.log; }), false},
    {"max-skips", "20", "steps in a row without a finite loss and gradient that end the run; such "
     "steps change nothing", number<int64_t>(1, [](C &c) -> auto & { return c.maxSkips; }), false},
    {"check", "", "in place of training: gradients (against differences of the loss) or overfit "
     "(one batch must be learned by heart within --steps)", setCheck, false},
    {"trace", "", "file for the time by part, in the trace event format",
     text([](C &c) -> auto & { return c.trace; }), false},
    {"sweep", "", "one run per value of a flag; not built yet", only(""), false},
  };
}
// clang-format on

std::vector<Flag> makeFlags() {
  std::vector<Flag> all = flagsOfTask();
  for (auto more : {flagsOfModel, flagsOfSteps, flagsOfOptimizers, flagsOfRun})
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
  values[name] = value;
  return Status::success();
}

/// The keys of a configuration file become values; those given as flags win.
Status readConfigFile(const std::string &path, Values &values) {
  auto content = readFile(path);
  if (!content)
    return content.takeError();
  nlohmann::json object = nlohmann::json::parse(*content, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return makeError("expected a JSON object with flags as keys in '", path,
                     "', found something else");
  for (const auto &[key, value] : object.items()) {
    if (!value.is_string() && !value.is_number())
      return makeError("expected a number or a string for '", key, "' in '", path, "', found ",
                       value.dump());
    std::string spelled = value.is_string() ? value.get<std::string>() : value.dump();
    if (values.count(key))
      continue;
    if (Status status = addValue(values, key, spelled, "key '" + key + "' in '" + path + "'");
        !status)
      return status;
  }
  return Status::success();
}

/// Flags given on the command line; --config's file, --resume and --help are kept apart.
Status readArguments(const std::vector<std::string> &arguments, Values &values,
                     std::string &configFile, TrainOptions &options) {
  std::set<std::string> seen;
  for (const std::string &argument : arguments) {
    size_t equals = argument.find('=');
    if (argument == "--help") {
      options.help = true;
    } else if (argument == "--resume" || argument == "--resume=if-any") {
      options.config.resume = true;
      options.config.resumeIfAny = equals != std::string::npos;
    } else if (argument.starts_with("--resume=") || argument.starts_with("--help=")) {
      return makeError(argument.substr(0, equals), ": expected no value",
                       argument.starts_with("--resume=") ? " or 'if-any'" : "", ", found '",
                       argument.substr(equals + 1), "'");
    } else if (!argument.starts_with("--") || equals == std::string::npos) {
      return makeError("expected --name=value, found '", argument, "'");
    } else {
      std::string name = argument.substr(2, equals - 2), value = argument.substr(equals + 1);
      if (!seen.insert(name).second)
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

/// Flags of something that the run does not use would be ignored in silence.
Status checkUse(const Values &values, const TrainConfig &config) {
  const bool plateau = config.reinit.enabled && config.reinit.when == ReinitTime::Plateau;
  for (const auto &[name, value] : values) {
    if (name.starts_with("muon-") && config.optimizer.kind != OptimizerKind::Muon)
      return makeError("expected --optimizer=muon with --", name, ", found adamw");
    if (name.starts_with("plateau-") && !plateau)
      return makeError("expected --reinit-iters and --reinit-at=plateau with --", name,
                       ", found neither or one of them");
    if (name == "redo-tau" && config.plasticity.redoInterval == 0)
      return makeError("expected --redo-interval with --redo-tau, found none");
    if (name == "dash-scope" && config.plasticity.dash == Dash::Off)
      return makeError("expected --dash=published or rowdecay with --dash-scope, found off");
  }
  const PlasticityConfig &plasticity = config.plasticity;
  if ((plasticity.dash == Dash::RowDecay) != (plasticity.dashInterval > 0))
    return makeError("expected --dash=rowdecay and --dash-interval together, found one of them");
  if (plasticity.dash == Dash::Published && config.phases.size() < 2)
    return makeError("--dash=published: expected --phases of two or more, between which it "
                     "happens, found one");
  return Status::success();
}

} // namespace

Metadata trainDefaults() {
  Metadata defaults;
  for (const Flag &flag : flags())
    if (flag.identity)
      defaults["pe.train." + flag.name] = flag.preset;
  return defaults;
}

Expected<TrainOptions> parseTrainOptions(const std::vector<std::string> &arguments) {
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
  if (Status status = check(options.config.model); !status)
    return status.takeError();
  if (Status status = checkUse(values, options.config); !status)
    return status.takeError();
  if (options.config.resume && options.config.checkpoint.empty())
    return makeError("expected --checkpoint=DIR with --resume, found none");
  return options;
}

std::string trainHelp() {
  std::string text = "pe train: trains a small language model with an encoding\n\n";
  for (const Flag &flag : flags()) {
    std::string line = "  --" + flag.name + "=" + flag.preset;
    line.resize(std::max<size_t>(line.size() + 2, 40), ' ');
    text += line + flag.help + "\n";
  }
  return text + "  --config=FILE                         JSON object with these flags as keys\n"
                "  --resume                              go on from the latest checkpoint;\n"
                "                                        =if-any: where there is one\n";
}

} // namespace pe::train
