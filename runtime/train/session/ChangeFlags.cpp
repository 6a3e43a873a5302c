//===- ChangeFlags.cpp - Flags for changes between steps ------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {
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
     "0: off; otherwise weights are changed at --reinit-at: 4 with engine qdwh, the exact number "
     "of steps with cubic, 1 in all other cases", setReinitIterations},
    {"reinit-method", "project", "project (onto scaled isometries), or as baselines shrink-perturb "
     "or fresh (initial values)",
     choice(reinit::parseMethod, [](C &c) -> auto & { return c.reinit.change.method; })},
    {"shrink", "0.4", "share of the old weights in shrink-perturb; the rest is fresh", setShrink},
    {"reinit-engine", "qdwh", "how the projection is computed: qdwh (float64, exact), quintic "
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
    {"plateau-window", "8", "evaluations that detect a plateau; restarts after each reinit",
     number<int64_t>(3, [](C &c) -> auto & { return c.reinit.plateauWindow; })},
    {"redo-interval", "0", "steps between recycling dormant neurons of feed-forward layers; "
     "0: never", number<int64_t>(0, [](C &c) -> auto & { return c.plasticity.redoInterval; })},
    {"redo-tau", "0.025", "a neuron is dormant if its mean activity is at most this share of its "
     "layer's", fraction(Range::HalfOpen, [](C &c) -> auto & { return c.plasticity.redoTau; })},
    {"dash", "off", "off, published (before every phase except the first, rows of matrices shrink "
     "by their cosine with the negative gradient of the new text) or rowdecay (every "
     "--dash-interval steps, rows along the last gradient shrink slightly)",
     choice(parseDash, [](C &c) -> auto & { return c.plasticity.dash; })},
    {"dash-interval", "0", "steps between applications of rowdecay",
     number<int64_t>(0, [](C &c) -> auto & { return c.plasticity.dashInterval; })},
    {"dash-scope", "all", "matrices that shrink: all, or only those that AdamW updates (adamw)",
     choice(parseDashScope, [](C &c) -> auto & { return c.plasticity.dashScope; })},
  };
}
// clang-format on

} // namespace pe::train
