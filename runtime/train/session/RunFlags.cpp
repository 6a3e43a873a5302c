//===- RunFlags.cpp - Flags for files and outputs -------------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {

using C = TrainConfig;

namespace {

Status setCheck(TrainConfig &config, const std::string &value) {
  using Check = TrainConfig::Check;
  if (!value.empty() && value != "gradients" && value != "overfit")
    return makeError("expected ", joinChoices({"gradients", "overfit"}), ", found '", value, "'");
  config.check = value.empty()          ? Check::None
                 : value == "gradients" ? Check::Gradients
                                        : Check::Overfit;
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

Status setResume(TrainConfig &config, const std::string &value) {
  config.resume = !value.empty();
  config.resumeIfAny = value == "if-any";
  if (!value.empty() && value != "true" && value != "if-any")
    return makeError("expected no value or 'if-any', found '", value, "'");
  return Status::success();
}

Status setOverwrite(TrainConfig &config, const std::string &value) {
  config.overwrite = value == "true";
  if (!value.empty() && value != "true")
    return makeError("expected no value, found '", value, "'");
  return Status::success();
}

} // namespace

// clang-format off
/// Returns the flags for files and outputs.
std::vector<Flag> flagsOfRun() {
  return {
    {"eval-lengths", "256,512,1024,2048",
     "context lengths at which the same held-out tokens are scored",
     setLengths, false},
    {"eval-interval", "0", "steps between evaluations; 0: only after the last step",
     number<int64_t>(0, [](C &c) -> auto & { return c.evaluationInterval; }), false},
    {"target", "cpu", "where the model is trained", only("cpu", kOnGpus), false},
    {"threads", "0", "threads; 0: one per core; results do not depend on it",
     number<int>(0, [](C &c) -> auto & { return c.threads; }), false},
    {"checkpoint", "", "directory for checkpoints",
     text([](C &c) -> auto & { return c.checkpoint; }), false},
    {"checkpoint-interval", "200", "steps between checkpoints",
     number<int64_t>(1, [](C &c) -> auto & { return c.checkpointInterval; }), false},
    {"keep", "1", "number of latest checkpoints to keep",
     number<int64_t>(1, [](C &c) -> auto & { return c.keepCheckpoints; }), false},
    {"log", "",
     "file of JSON lines: loss, norms, learning rate and every parameter of the encoding",
     text([](C &c) -> auto & { return c.log; }), false},
    {"against", "", "checkpoint directory or model file of older weights: evaluations in the log "
     "contain each matrix's squared distance from it (SFE)",
     text([](C &c) -> auto & { return c.against; }), false},
    {"max-skips", "20",
     "consecutive steps without a finite loss and gradient that end the run; such steps change "
     "nothing",
     number<int64_t>(1, [](C &c) -> auto & { return c.maxSkips; }), false},
    {"check", "", "instead of training, check gradients (against differences of the loss) or "
     "overfit (the model must memorize one batch within --steps)", setCheck, false},
    {"trace", "", "file for the time of each part, in the trace event format",
     text([](C &c) -> auto & { return c.trace; }), false},
    {"sweep", "", "KEY=A,B,C: a run for each value of a flag; several sweeps form a grid",
     text([](C &c) -> auto & { return c.sweep; }), false},
    {"seeds", "", "N,N,...: a run for each seed; the table shows mean and standard deviation",
     text([](C &c) -> auto & { return c.seeds; }), false},
    {"jobs", "1", "runs of --sweep and --seeds at the same time",
     number<int>(1, [](C &c) -> auto & { return c.jobs; }), false},
    {"out", "build/runs", "directory for the results of --sweep and --seeds, and finished runs",
     text([](C &c) -> auto & { return c.out; }), false},
    {"resume", "", "resume from the latest checkpoint; =if-any: if there is one", setResume, false,
     false},
    {"overwrite", "", "replace the --checkpoint, --log and --trace of an earlier run; otherwise "
     "that is an error", setOverwrite, false, false},
  };
}
// clang-format on

} // namespace pe::train
