//===- StepFlags.cpp - Flags about the text and the steps ------------------===//
#include "runtime/core/File.h"
#include "runtime/train/session/Flags.h"

#include <nlohmann/json.hpp>

namespace pe::train {
namespace {

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

} // namespace

// clang-format off
/// Flags about what is learned.
std::vector<Flag> flagsOfTask() {
  return {
    {"data", "", "directory of text files, of which every tenth is held out; FILE.bin of tokens "
     "(uint16, or ?type=uint32); task:flip-flop, copy, addition or dyck (?p=0.8); default: Python's "
     "library", text([](C &c) -> auto & { return c.phases[0].data; })},
    {"encoding", "none", ".mlir file with the entry @attention, or none",
     text([](C &c) -> auto & { return c.encoding; })},
    {"vocab", "char", "tokens of the text: char (96 characters) or byte; of a token file their number",
     choice(parseVocabulary, [](C &c) -> auto & { return c.vocabulary; })},
    {"objective", "causal", "what is learned: causal predicts the next token, masked some that are "
     "hidden (15 %: 80 % as a mask, 10 % as another, 10 % as they are), for encodings that look "
     "both ways", choice(parseObjective, [](C &c) -> auto & { return c.objective; })},
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
// clang-format on

} // namespace pe::train
