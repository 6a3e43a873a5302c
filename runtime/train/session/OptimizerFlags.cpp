//===- OptimizerFlags.cpp - Flags for the optimizers ----------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {

using C = TrainConfig;

namespace {

Status setWeightDecay(TrainConfig &config, const std::string &text) {
  Status status = number<double>(
      0, [](TrainConfig &c) -> auto & { return c.optimizer.adamw.weightDecay; })(config, text);
  config.optimizer.muon.weightDecay = config.optimizer.adamw.weightDecay;
  return status;
}

/// Sets a number of at least 0, or resets the option to the general value if the text is empty.
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
/// Returns the flags for the optimizers.
std::vector<Flag> flagsOfOptimizers() {
  return {
    {"optimizer", "adamw", "adamw, or muon for the matrices of attention and feed-forward layers "
     "(and adamw for the rest)",
     choice(parseOptimizer, [](C &c) -> auto & { return c.optimizer.kind; })},
    {"lr", "0.003", "peak learning rate of AdamW",
     number<double>(0, [](C &c) -> auto & { return c.learningRate; })},
    {"schedule", "linear", "linear (constant, then linear decay over the second half), cosine, "
     "constant or wsd (constant, then 1 - sqrt decay over the last fifth)",
     choice(parseDecay, [](C &c) -> auto & { return c.decay; })},
    {"final-lr", "0.1", "final learning rate, as a fraction of the peak",
     fraction(Range::Closed, [](C &c) -> auto & { return c.finalRate; })},
    {"warmup", "40", "steps of linear warm-up at the start of every phase",
     number<int64_t>(0, [](C &c) -> auto & { return c.warmup; })},
    {"accumulate", "1", "batches per step, whose gradients are averaged",
     number<int64_t>(1, [](C &c) -> auto & { return c.accumulate; })},
    {"encoding-lr", "", "peak learning rate of the encoding's parameters; default: --lr",
     ofEncoding([](C &c) -> auto & { return c.encodingRate; })},
    {"weight-decay", "0.1", "weight decay", setWeightDecay},
    {"encoding-decay", "", "weight decay of the encoding's tables and matrices, unless they have "
     "pe.decay = false, and of parameters with pe.decay = true; default: --weight-decay",
     ofEncoding([](C &c) -> auto & { return c.optimizer.adamw.encodingDecay; })},
    {"clip", "1", "norm to which AdamW's gradients are clipped; 0: no clipping",
     number<double>(0, [](C &c) -> auto & { return c.optimizer.adamw.clip; })},
    {"muon-lr", "0.02", "peak learning rate of Muon",
     number<double>(0, [](C &c) -> auto & { return c.optimizer.muon.learningRate; })},
    {"muon-momentum", "0.95", "momentum of Muon",
     fraction(Range::HalfOpen, [](C &c) -> auto & { return c.optimizer.muon.momentum; })},
    {"muon-orth", "quintic", "orthogonalization in Muon: five steps of quintic or polar-express, "
     "or exact with qdwh",
     choice(parseMuonOrthogonal, [](C &c) -> auto & { return c.optimizer.muon.orthogonal; })},
    {"muon-adjust", "original",
     "scale of Muon's updates: original (sqrt(max(1, outputs/inputs))) or match-rms (0.2 "
     "sqrt(max(outputs, inputs)), the size of AdamW's)",
     choice(parseMuonAdjust, [](C &c) -> auto & { return c.optimizer.muon.adjust; })},
  };
}
// clang-format on

} // namespace pe::train
