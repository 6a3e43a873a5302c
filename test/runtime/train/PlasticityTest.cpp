//===- PlasticityTest.cpp - Dormant neurons and direction-aware shrinking ---===//
//
// Compares activities with directly computed sums, plants dormant neurons, recomputes the published
// formula, and stops runs between these events.
//
//===----------------------------------------------------------------------===//
#include "runtime/train/trainer/Plasticity.h"
#include "Sessions.h"
#include "runtime/core/File.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/trainer/Measures.h"

#include <cmath>
#include <numeric>

using namespace pe;
using namespace pe::train;
using namespace pe::test;

namespace {

constexpr DecoderConfig kShape = {
    .layers = 2, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 5, .vocabulary = 32};
constexpr int64_t kHidden = 80;

std::vector<float> copyOf(const ParameterBlock &block, const Parameter &parameter) {
  return {block.at(parameter), block.at(parameter) + parameter.count};
}

/// A model after two steps in which neuron 3 of layer 1 is silent, because its input weights are
/// zero.
struct Dormant : testing::TestWithParam<bool> {
  void SetUp() override {
    config.gated = GetParam();
    trainer = std::make_unique<Trainer>(
        makeModel(config, /*gated=*/false, {}, GetParam() ? "swiglu" : "relu2"),
        compiledKernels(GetParam() ? "swiglu" : "relu2"), OptimizerConfig{}, inOrder);
    batches = {makeBatch(3, 20, config.vocabulary)};
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE(trainer->step(batches, {1e-3}));
    for (const char *name : {"layer1.mlp.w1", "layer1.mlp.w3"})
      if (const int64_t index = layout().find(name); index >= 0)
        std::fill_n(trainer->model().values().at(layout()[index]) + 3 * 16, 16, 0.0f);
  }

  const ParameterLayout &layout() { return trainer->model().layout(); }
  double loss() {
    EXPECT_TRUE(trainer->model().forward(batches[0], 1, inOrder));
    auto losses = trainer->model().losses();
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  DecoderConfig config = kShape;
  std::unique_ptr<Trainer> trainer;
  std::vector<Batch> batches;
};

TEST_P(Dormant, ActivityIsTheMeanMagnitude) {
  trainer->model().recordActivity(true);
  loss();
  std::vector<double> once = trainer->model().activity(0);
  ASSERT_EQ(once.size(), size_t(trainer->model().config().hidden()));
  EXPECT_GT(*std::min_element(once.begin(), once.end()), 0);
  EXPECT_EQ(trainer->model().activity(1)[3], 0);
  // Adding only every second token gives different means; the same batch added twice gives the same
  // means.
  const Batch &batch = batches[0];
  Batch twice;
  twice.resize(2 * batch.sequences, batch.length);
  for (int64_t i = 0; i < 2 * batch.sequences * batch.length; ++i) {
    twice.inputs[i] = batch.inputs[i % batch.inputs.size()];
    twice.targets[i] = batch.targets[i % batch.targets.size()];
  }
  ASSERT_TRUE(trainer->model().forward(twice, 1, backwards));
  for (size_t n = 0; n < once.size(); ++n)
    EXPECT_NEAR(trainer->model().activity(0)[n], once[n], 1e-12 + 1e-12 * once[n]);
  ASSERT_TRUE(trainer->model().forward(batch, 1, onThreads));
  EXPECT_EQ(trainer->model().activity(0), once);
}

TEST_P(Dormant, RecyclesOnlyThePlantedNeuron) {
  trainer->model().recordActivity(true);
  Activity activity(trainer->model());
  const double before = loss();
  activity.add(trainer->model());
  EXPECT_EQ(activity.scores(1)[3], 0);
  const std::vector<double> scores = activity.scores(0);
  EXPECT_NEAR(std::accumulate(scores.begin(), scores.end(), 0.0), double(scores.size()), 1e-9);

  std::vector<std::vector<float>> values, moments;
  for (int64_t index = 0; index < layout().size(); ++index) {
    values.push_back(copyOf(trainer->model().values(), layout()[index]));
    const float *moment = trainer->optimizers().find("m", index);
    ASSERT_TRUE(moment);
    moments.emplace_back(moment, moment + layout()[index].count);
  }
  auto reports = recycleDormant(*trainer, activity, 1e-6, /*seed=*/4);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].dormant, 0);
  EXPECT_EQ(reports[1].layer, "layer1.mlp");
  EXPECT_EQ(reports[1].dormant, 1);
  EXPECT_EQ(loss(), before) << "a silent neuron's function changed";

  int64_t changed = 0, cleared = 0;
  for (int64_t index = 0; index < layout().size(); ++index) {
    const Parameter &parameter = layout()[index];
    const bool isSource = parameter.name == "layer1.mlp.w1" || parameter.name == "layer1.mlp.w3";
    const bool isReader = parameter.name == "layer1.mlp.w2";
    for (int64_t i = 0; i < parameter.count; ++i) {
      const bool isNew = (isSource && i / 16 == 3) || (isReader && i % parameter.shape[1] == 3);
      const float value = trainer->model().values().at(parameter)[i];
      const float moment = trainer->optimizers().find("m", index)[i];
      if (isNew) {
        EXPECT_EQ(moment, 0) << parameter.name;
        EXPECT_EQ(value == 0, isReader) << parameter.name;
        changed += value != values[index][i];
        cleared += moments[index][i] != 0;
        continue;
      }
      ASSERT_EQ(value, values[index][i]) << parameter.name << " " << i;
      ASSERT_EQ(moment, moments[index][i]) << parameter.name << " " << i;
    }
  }
  EXPECT_EQ(changed, GetParam() ? 48 : 32);
  EXPECT_GT(cleared, 0);
  EXPECT_EQ(trainer->optimizers().updates()[layout().find("layer1.mlp.w1")], 2);
}

TEST_P(Dormant, FrozenLayersAreUnchanged) {
  trainer->model().recordActivity(true);
  Activity activity(trainer->model());
  loss();
  activity.add(trainer->model());
  ASSERT_TRUE(trainer->model().freeze("layer1.mlp.w2"));
  EXPECT_EQ(recycleDormant(*trainer, activity, 0.5, 4).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Activations, Dormant, testing::Values(false, true));

//===- DASH ----------------------------------------------------------------------===//

double cosineOf(const float *w, const std::vector<double> &g, int64_t begin, int64_t count) {
  double dot = 0, a = 0, b = 0;
  for (int64_t i = begin; i < begin + count; ++i) {
    dot += w[i] * g[i];
    a += double(w[i]) * w[i];
    b += g[i] * g[i];
  }
  return dot / std::sqrt(a * b);
}

TEST(Dash, MatchesThePublishedFormula) {
  Trainer trainer(makeModel(kShape), compiledKernels(), {}, inOrder);
  const ParameterLayout &layout = trainer.model().layout();
  const Parameter &w1 = layout[layout.find("layer0.mlp.w1")];
  const std::vector<float> before = copyOf(trainer.model().values(), w1);
  DirectionShrink shrink(trainer, DashScope::All);
  std::vector<double> average;
  for (uint64_t seed : {1, 2, 3}) {
    std::vector<Batch> step = {makeBatch(2, 12, 32, seed)};
    ASSERT_TRUE(shrink.add(step));
    std::vector<float> gradient = copyOf(trainer.model().gradients(), w1);
    for (size_t i = 0; i < gradient.size(); ++i)
      if (seed == 1)
        average.push_back(-0.3 * gradient[i]);
      else
        average[i] = 0.7 * average[i] - 0.3 * gradient[i];
  }
  auto reports = shrink.apply();
  ASSERT_TRUE(reports);
  double mean = 0;
  for (int64_t row = 0; row < kHidden; ++row) {
    const double factor = std::clamp(cosineOf(before.data(), average, row * 16, 16), 0.3, 1.0);
    mean += factor / kHidden;
    for (int64_t i = row * 16; i < row * 16 + 16; ++i)
      ASSERT_NEAR(trainer.model().values().at(w1)[i], factor * before[i], 1e-6);
  }
  // wq, wk, wv, wo, w1 and w2 of two layers, and the head.
  ASSERT_EQ(reports->size(), 13u);
  for (const ShrunkMatrix &matrix : *reports) {
    EXPECT_GE(matrix.least, 0.3);
    if (matrix.name == "layer0.mlp.w1") {
      EXPECT_NEAR(matrix.mean, mean, 1e-9);
    }
  }
}

TEST(Dash, ExcludesMuonsMatricesOnRequest) {
  OptimizerConfig config;
  config.kind = OptimizerKind::Muon;
  Trainer trainer(makeModel(kShape), compiledKernels(), config, inOrder);
  DirectionShrink shrink(trainer, DashScope::AdamW);
  EXPECT_FALSE(shrink.apply());
  std::vector<Batch> step = {makeBatch(2, 12, 32)};
  ASSERT_TRUE(shrink.add(step));
  auto reports = shrink.apply();
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->size(), 1u);
  EXPECT_EQ(reports->front().name, "head");
}

TEST(Dash, RowDecayShrinksRowsAlongTheGradient) {
  Trainer trainer(makeModel(kShape), compiledKernels(), {}, inOrder);
  const ParameterLayout &layout = trainer.model().layout();
  const Parameter &w1 = layout[layout.find("layer0.mlp.w1")];
  float *weights = trainer.model().values().at(w1), *gradient = trainer.model().gradients().at(w1);
  std::copy_n(weights, 16, gradient); // row 0: cosine 1
  for (int64_t i = 16; i < 32; ++i)   // row 1: -1
    gradient[i] = -weights[i];
  std::fill_n(gradient + 32, 16, std::nanf("")); // row 2: not finite
  const std::vector<float> before = copyOf(trainer.model().values(), w1);
  decayRows(trainer, DashScope::All);
  for (int64_t i = 0; i < 48; ++i)
    EXPECT_NEAR(weights[i], before[i] * (i < 16 ? 1 - 0.005 * 0.95 : 1.0), 1e-7) << i;
}

//===- Measures ------------------------------------------------------------------===//

TEST(Measures, MatchKnownSingularValues) {
  ASSERT_TRUE(blas::load());
  // A wide matrix with singular values 3, 1, 0.
  std::vector<float> w(3 * 5, 0.0f), gradient(3 * 5, 2.0f);
  w[0 * 5 + 4] = -3;
  w[2 * 5 + 1] = 1;
  const MatrixMeasures wide = measureMatrix("w", 3, 5, w.data(), gradient.data());
  EXPECT_NEAR(wide.norm, std::sqrt(10.0), 1e-12);
  EXPECT_NEAR(wide.gradientNorm, 2 * std::sqrt(15.0), 1e-12);
  EXPECT_NEAR(wide.dfi, (64 + 0 + 1) / 3.0, 1e-12);
  EXPECT_NEAR(wide.stableRank, 10.0 / 9, 1e-12);
  EXPECT_NEAR(wide.effectiveRank, std::exp(-0.75 * std::log(0.75) - 0.25 * std::log(0.25)), 1e-6);
  EXPECT_NEAR(measureMatrix("w", 5, 3, w.data(), gradient.data()).norm, wide.norm, 1e-12);
  std::fill(w.begin(), w.end(), 0.0f);
  EXPECT_EQ(measureMatrix("w", 3, 5, w.data(), gradient.data()).effectiveRank, 0);
  w[3] = std::nanf("");
  EXPECT_EQ(measureMatrix("w", 3, 5, w.data(), gradient.data()).stableRank, 0);
}

TEST_F(SessionTest, EvaluationsAreLoggedWithMeasures) {
  auto log = LogWriter::open(path("log.jsonl"), false);
  ASSERT_TRUE(log);
  auto session = makeSession(smallConfig());
  (*log)->writeStart(*session, {});
  ASSERT_TRUE(session->run({log->get()}));
  const std::string text = *readFile(path("log.jsonl"));
  const size_t begin = text.find(R"({"event":"evaluation")");
  ASSERT_NE(begin, std::string::npos);
  for (const char *part :
       {R"("layer0.mlp.w2":{"norm":)", R"("grad_norm":)", R"("dfi_per_dim":)", R"("stable_rank":)",
        R"("effective_rank":)", R"("dormant":{"layer0.mlp":)", R"("encoding":{"layer0.attention.)"})
    EXPECT_NE(text.find(part, begin), std::string::npos) << part;
}

//===- Runs ----------------------------------------------------------------------===//

struct PlasticityRun : SessionTest {
  static TrainConfig config() {
    TrainConfig config = smallConfig();
    config.phases = {{"", 5}, {"other", 5}};
    return config;
  }
};

TEST_F(PlasticityRun, ResumedRunEqualsUninterruptedRun) {
  TrainConfig both = config();
  both.plasticity.redoInterval = 3;
  both.plasticity.redoTau = 0.6;
  both.plasticity.dash = Dash::Published;
  expectResumedRunEqualsUninterruptedRun(both, {});
  both.plasticity.dash = Dash::RowDecay;
  both.plasticity.dashInterval = 2;
  both.evaluationInterval = 2;
  expectResumedRunEqualsUninterruptedRun(both, {});
}

TEST_F(PlasticityRun, EventsAreReportedAndLogged) {
  auto log = LogWriter::open(path("log.jsonl"), false);
  ASSERT_TRUE(log);
  TrainConfig given = config();
  given.plasticity.redoInterval = 4;
  given.plasticity.dash = Dash::Published;
  Recorder with, without;
  ASSERT_TRUE(makeSession(given)->run({log->get(), &with}));
  ASSERT_TRUE(makeSession(config())->run({&without}));
  EXPECT_EQ(std::vector(with.losses.begin(), with.losses.begin() + 5),
            std::vector(without.losses.begin(), without.losses.begin() + 5));
  EXPECT_NE(with.losses.back(), without.losses.back());
  const std::string text = *readFile(path("log.jsonl"));
  for (const char *line : {R"({"event":"redo","step":4,"layers":[{"name":"layer0.mlp","dormant":)",
                           R"({"event":"redo","step":8,)", R"({"event":"dash","step":5,)"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(PlasticityOptions, RejectInvalidCombinations) {
  EXPECT_EQ(optionsError({{"redo-interval", "100"}, {"redo-tau", "0.1"}}), "accepted");
  EXPECT_EQ(optionsError({{"redo-tau", "0.1"}}),
            "expected --redo-interval with --redo-tau, found none");
  EXPECT_EQ(optionsError({{"redo-interval", "5"}, {"redo-tau", "1"}}),
            "--redo-tau: expected a number from 0 to below 1, found '1'");
  EXPECT_EQ(optionsError({{"dash", "rowdecay"}}),
            "expected --dash=rowdecay and --dash-interval together, found one of them");
  EXPECT_EQ(optionsError({{"dash", "published"}}),
            "--dash=published: expected --phases with at least two phases, since it is applied "
            "between them, found one");
  EXPECT_EQ(optionsError({{"dash-scope", "adamw"}}),
            "expected --dash=published or rowdecay with --dash-scope, found off");
  EXPECT_EQ(
      optionsError({{"dash", "rowdecay"}, {"dash-interval", "2000"}, {"dash-scope", "adamw"}}),
      "accepted");
}

} // namespace
