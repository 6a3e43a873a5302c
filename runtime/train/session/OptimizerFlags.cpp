//===- OptimizerFlags.cpp - Flags about the update of the weights ----------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {
namespace {

Status setWeightDecay(TrainConfig &config, const std::string &text) {
  Status status = number<double>(
      0, [](TrainConfig &c) -> auto & { return c.optimizer.adamw.weightDecay; })(config, text);
  config.optimizer.muon.weightDecay = config.optimizer.adamw.weightDecay;
  return status;
}

/// A number of at least 0, or the general one if none is given.
template <typename Access> Setter ofEncoding(Access access) {
  return [=](TrainConfig &config, const std::string &text) -> Status {
    if (text.empty()) {
      access(config).reset();
      return Status::success();
    }
    double value = 0;
    Status status = number<double>(0, [&](TrainConfig &) -> auto & { return value; })(config, text);
    if (status)
      access(config) = value;
    return status;
  };
}

} // namespace

// clang-format off
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
    {"encoding-lr", "", "peak learning rate of the encoding's parameters; default: --lr",
     ofEncoding([](C &c) -> auto & { return c.encodingRate; })},
    {"weight-decay", "0.1", "decay of weights", setWeightDecay},
    {"encoding-decay", "", "decay of the encoding's parameters that decay: tables and matrices "
     "without pe.decay = false, and what has pe.decay = true; default: --weight-decay",
     ofEncoding([](C &c) -> auto & { return c.optimizer.adamw.encodingDecay; })},
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
// clang-format on

} // namespace pe::train
