//===- StepFlags.cpp - Flags for the data and the steps -------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {

using C = TrainConfig;

static Status setFromOptimizer(TrainConfig &config, const std::string &value) {
  if (value != "keep" && value != "reset")
    return makeError("expected ", joinChoices({"keep", "reset"}), ", found '", value, "'");
  config.keepsOptimizer = value == "keep";
  return Status::success();
}

// clang-format off
/// Returns the flags for the data and the objective.
std::vector<Flag> flagsOfTask() {
  return {
    {"data", "", "directory of text files, of which every tenth is held out; FILE.bin of tokens "
     "(uint16, or ?type=uint32); task:flip-flop, copy, addition or dyck (?p=0.8); default: "
     "Python's standard library", text([](C &c) -> auto & { return c.phases[0].data; })},
    {"encoding", "none",
     ".mlir file with a function @attention, the name of one of pe's examples, or none",
     text([](C &c) -> auto & { return c.encoding; })},
    {"vocab", "char", "tokens of the text: char (96 characters) or byte; for a token file, "
     "the number of tokens", choice(parseVocabulary, [](C &c) -> auto & { return c.vocabulary; })},
    {"objective", "causal",
     "causal: predict the next token; masked: predict hidden tokens (15 %: 80 % replaced by a "
     "mask, 10 % by another token, 10 % unchanged), for bidirectional encodings",
     choice(parseObjective, [](C &c) -> auto & { return c.objective; })},
  };
}

/// Returns the flags for the steps.
std::vector<Flag> flagsOfSteps() {
  return {
    {"seq", "256", "tokens per training sequence",
     number<int64_t>(1, [](C &c) -> auto & { return c.sequence; })},
    {"batch", "16", "sequences per batch",
     number<int64_t>(1, [](C &c) -> auto & { return c.batch; })},
    {"steps", "600",
     "training steps; 0: only evaluate",
     number<int64_t>(0, [](C &c) -> auto & { return c.phases[0].steps; })},
    {"seed", "0",
     "seed of initial values and of the order of the text",
     number<uint64_t>(0, [](C &c) -> auto & { return c.seed; })},
    {"dtype", "f32", "data type of the computation", only("f32", kOnGpus)},
    {"phases", "", "JSON file with a list of {\"steps\": N, \"data\": DIR, ...}, instead of "
     "--steps; a phase may also set seq, lr, muon-lr, warmup, schedule, reinit, redo, dash and "
     "factor", setPhases},
    {"from", "", "checkpoint directory or model file to load the weights from, instead of "
     "initial values", text([](C &c) -> auto & { return c.from; })},
    {"from-optimizer", "reset", "state of the optimizers in that checkpoint: keep or reset",
     setFromOptimizer},
  };
}
// clang-format on

} // namespace pe::train
