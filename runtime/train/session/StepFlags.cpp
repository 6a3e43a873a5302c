//===- StepFlags.cpp - Flags about the text and the steps ------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {
static Status setFromOptimizer(TrainConfig &config, const std::string &value) {
  if (value != "keep" && value != "reset")
    return makeError("expected ", joinChoices({"keep", "reset"}), ", found '", value, "'");
  config.keepsOptimizer = value == "keep";
  return Status::success();
}

// clang-format off
/// Flags about what is learned.
std::vector<Flag> flagsOfTask() {
  return {
    {"data", "", "directory of text files, of which every tenth is held out; FILE.bin of tokens "
     "(uint16, or ?type=uint32); task:flip-flop, copy, addition or dyck (?p=0.8); default: "
     "Python's library", text([](C &c) -> auto & { return c.phases[0].data; })},
    {"encoding", "none", ".mlir file with the entry @attention, or none",
     text([](C &c) -> auto & { return c.encoding; })},
    {"vocab", "char", "tokens of the text: char (96 characters) or byte; of a token file "
     "their number", choice(parseVocabulary, [](C &c) -> auto & { return c.vocabulary; })},
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
     "training steps; 0: evaluation alone",
     number<int64_t>(0, [](C &c) -> auto & { return c.phases[0].steps; })},
    {"seed", "0",
     "of initial values and of the order of the text",
     number<uint64_t>(0, [](C &c) -> auto & { return c.seed; })},
    {"dtype", "f32", "type of the computation", only("f32", kOnGpus)},
    {"phases", "", "JSON file with a list of {\"steps\": N, \"data\": DIR, ...}, instead of "
     "--steps: seq, lr, muon-lr, warmup, schedule, reinit, redo, dash, factor of each "
     "phase", setPhases},
    {"from", "", "checkpoint folder or model file that the weights come from, in place of initial "
     "values", text([](C &c) -> auto & { return c.from; })},
    {"from-optimizer", "reset", "what optimizers remember in that checkpoint: keep or reset",
     setFromOptimizer},
  };
}
// clang-format on

} // namespace pe::train
