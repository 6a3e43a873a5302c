//===- ChangeFlags.cpp - Flags for changes between steps ------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {

using C = TrainConfig;

namespace {

Status setReinitIterations(TrainConfig &config, const std::string &text) {
  auto count = parseNumber<int>(text);
  if (!count)
    return count.takeError();
  config.reinit.enabled = *count != 0;
  config.reinit.change.settings.iterations = *count;
  return Status::success();
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
    return makeError("expected 'phase', 'plateau' or a step number, found '", text, "'");
  config.reinit.when = ReinitTime::Step;
  config.reinit.step = *step;
  return Status::success();
}

} // namespace

/// The user chooses the count only for the published operators; otherwise it is fixed.
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

// clang-format off
/// Returns the flags for changes to the weights between steps.
std::vector<Flag> flagsOfChanges() {
  return {
    {"reinit-iters", "0",
     "0: off; otherwise weights are changed at --reinit-at. Expected: 4 with engine qdwh, the "
     "number of steps with cubic, 1 with others",
     setReinitIterations},
    {"reinit-method", "project",
     "project (onto scaled isometries), or the baselines shrink-perturb and fresh (initial values)",
     choice(reinit::parseMethod, [](C &c) -> auto & { return c.reinit.change.method; })},
    {"shrink", "0.4",
     "fraction of the old weights in shrink-perturb; the rest is fresh",
     setShrink},
    {"reinit-engine", "qdwh", "algorithm of the projection: qdwh (float64, exact), quintic "
     "(float32, products only) or cubic (the published steps)",
     choice(reinit::parseEngine, [](C &c) -> auto & { return c.reinit.change.settings.engine; })},
    {"reinit-norm", "fro", "norm that engine cubic divides by first: fro or spectral",
     choice(reinit::parseNorm, [](C &c) -> auto & { return c.reinit.change.settings.norm; })},
    {"reinit-target", "all", "weights to change: all, attention or mlp",
     choice(reinit::parseTarget, [](C &c) -> auto & { return c.reinit.change.target; })},
    {"reinit-scale", "muon", "scale of the isometries: muon, none, mean-sigma or fro",
     choice(reinit::parseScale, [](C &c) -> auto & { return c.reinit.change.settings.scale; })},
    {"reinit-at", "phase", "phase (between phases), plateau or a step number",
     setReinitTime},
    {"plateau-interval", "20", "steps between the evaluations that detect a plateau",
     number<int64_t>(1, [](C &c) -> auto & { return c.reinit.plateauInterval; })},
    {"plateau-window", "8",
     "number of evaluations in which a plateau is detected; as many follow each reinit",
     number<int64_t>(3, [](C &c) -> auto & { return c.reinit.plateauWindow; })},
    {"redo-interval", "0", "steps between reinitializations of dormant feed-forward neurons; "
     "0: never", number<int64_t>(0, [](C &c) -> auto & { return c.plasticity.redoInterval; })},
    {"redo-tau", "0.025",
     "a neuron is dormant if its mean activity is at most this fraction of its layer's",
     fraction(Range::HalfOpen, [](C &c) -> auto & { return c.plasticity.redoTau; })},
    {"dash", "off", "off; published: before every phase but the first, shrink matrix rows by their "
     "cosine with the negative gradient on the new text; rowdecay: every --dash-interval steps, "
     "shrink rows along the last gradient a little",
     choice(parseDash, [](C &c) -> auto & { return c.plasticity.dash; })},
    {"dash-interval", "0", "steps between applications of rowdecay",
     number<int64_t>(0, [](C &c) -> auto & { return c.plasticity.dashInterval; })},
    {"dash-scope", "all", "matrices to shrink: all, or adamw (those that AdamW updates)",
     choice(parseDashScope, [](C &c) -> auto & { return c.plasticity.dashScope; })},
  };
}
// clang-format on

} // namespace pe::train
