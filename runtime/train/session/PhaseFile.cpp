//===- PhaseFile.cpp - Read the phases of a run from a file ---------------===//
//
// The file is a JSON list with one object per phase. Errors name the phase, counted from 1.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"
#include "runtime/plan/JsonText.h"
#include "runtime/train/session/Flags.h"

namespace pe::train {
namespace {

using Json = nlohmann::json;

/// Reads the fields of one phase and stores the first error.
class PhaseReader {
public:
  explicit PhaseReader(const Json &entry) : entry(entry) {}

  std::optional<double> number(const char *name, double least, bool isWhole = false) {
    const Json *field = find(name);
    if (!field)
      return std::nullopt;
    const double value = field->is_number() ? field->get<double>() : -1;
    if (!field->is_number() || !(value >= least) || (isWhole && value != std::floor(value))) {
      fail(name, isWhole ? "an integer" : "a number", " of at least ", least);
      return std::nullopt;
    }
    return value;
  }
  std::optional<int64_t> whole(const char *name, int64_t least) {
    const auto value = number(name, static_cast<double>(least), true);
    return value ? std::optional(static_cast<int64_t>(std::min(*value, 0x1p54))) : std::nullopt;
  }
  std::optional<std::string> text(const char *name) {
    const Json *field = find(name);
    if (field && !field->is_string())
      fail(name, "a string");
    return field && field->is_string() ? std::optional(field->get<std::string>()) : std::nullopt;
  }
  template <typename Value>
  std::optional<Value> choice(const char *name, Expected<Value> (*parse)(std::string_view)) {
    const auto value = text(name);
    if (!value)
      return std::nullopt;
    auto parsed = parse(*value);
    if (!parsed && problem)
      problem = parsed.takeError().within(std::string("'") + name + "'");
    return parsed ? std::optional(*parsed) : std::nullopt;
  }
  /// Reads true, false, or the name of the weights.
  void reinit(PhaseConfig &phase) {
    const Json *field = find("reinit");
    if (field && field->is_boolean())
      phase.reinit = field->get<bool>();
    else if (field)
      phase.reinitTarget = choice("reinit", reinit::parseTarget);
    if (phase.reinitTarget)
      phase.reinit = true;
  }
  /// Returns the first error, or an error for a field that was not read.
  Status finish() {
    for (const auto &[name, value] : entry.items())
      if (problem && std::find(known.begin(), known.end(), name) == known.end())
        problem = makeError("unknown field '", name, "'", suggestChoice(name, known));
    return problem;
  }

private:
  const Json *find(const char *name) {
    known.emplace_back(name);
    const auto found = entry.find(name);
    return found == entry.end() ? nullptr : &*found;
  }
  template <typename... Parts> void fail(const char *name, const Parts &...expected) {
    if (problem)
      problem = makeError("'", name, "': expected ", expected..., ", found ",
                          plan::shortened(entry[name]));
  }

  const Json &entry;
  std::vector<std::string> known;
  Status problem = Status::success();
};

Expected<PhaseConfig> readPhase(const Json &entry, const std::string &defaultData) {
  PhaseReader reader(entry);
  PhaseConfig phase;
  phase.data = reader.text("data").value_or(defaultData);
  phase.steps = reader.whole("steps", 1).value_or(0);
  phase.sequence = reader.whole("seq", 1);
  phase.learningRate = reader.number("lr", 0);
  phase.muonRate = reader.number("muon-lr", 0);
  phase.warmup = reader.whole("warmup", 0);
  phase.decay = reader.choice("schedule", parseDecay);
  reader.reinit(phase);
  phase.redoInterval = reader.whole("redo", 0);
  phase.dash = reader.choice("dash", parseDash);
  phase.factor = reader.number("factor", 0);
  if (Status status = reader.finish(); !status)
    return status.takeError();
  Json more = entry;
  more.erase("data");
  more.erase("steps");
  for (Json &value : more)
    if (value.is_number())
      value = value.get<double>(); // 2 is equal to 2.0
  if (!more.empty())
    phase.more = more.dump(-1, ' ', true, Json::error_handler_t::replace);
  return phase;
}

} // namespace

Status setPhases(TrainConfig &config, const std::string &path) {
  if (path.empty())
    return Status::success();
  auto content = readFile(path);
  if (!content)
    return content.takeError();
  auto parsed = plan::parseJson<Json>(*content, path);
  if (!parsed)
    return parsed.takeError();
  const Json &list = *parsed;
  constexpr int64_t kMostSteps = int64_t(1) << 53; // of the entire run
  int64_t left = kMostSteps;
  std::vector<PhaseConfig> phases;
  bool wellFormed = list.is_array() && !list.empty();
  for (const Json &entry : wellFormed ? list : Json::array())
    wellFormed = wellFormed && entry.is_object() && entry.contains("steps");
  if (!wellFormed)
    return makeError("expected a JSON list of {\"steps\": N, ...} with N > 0 in '", path,
                     "', found ", plan::shortened(list));
  for (const Json &entry : list) {
    auto phase = readPhase(entry, config.phases[0].data);
    if (!phase)
      return phase.takeError().within("'" + path + "': phase " + std::to_string(phases.size() + 1));
    if (phase->steps > left)
      return makeError("expected at most 2^53 steps in all phases of '", path, "', found more");
    left -= phase->steps;
    phases.push_back(*std::move(phase));
  }
  config.phases = std::move(phases);
  return Status::success();
}

} // namespace pe::train
