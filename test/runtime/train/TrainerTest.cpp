//===- TrainerTest.cpp - One training step --------------------------------===//

#include "NaiveDecoder.h"
#include "Trainers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

TEST(Trainer, MemorizesABatch) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Muon}) {
    auto trainer = makeTrainer({kind, {.weightDecay = 0}, {.weightDecay = 0}});
    Batch batch = makeBatch(2, 12, 16);
    double first = step(*trainer, batch, 1e-2)->loss, last = first;
    for (int i = 0; i < 150; ++i)
      last = step(*trainer, batch, 1e-2)->loss;
    EXPECT_LT(last, 0.25 * first);
  }
}

TEST(Trainer, IsBitwiseEqualForAnyNumberOfThreads) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Muon}) {
    auto one = makeTrainer({kind}), three = makeTrainer({kind}, onThreads);
    run(*one, 5);
    run(*three, 5);
    EXPECT_EQ(contents(one->model().values()), contents(three->model().values()));
  }
}

// The batches of a step are equivalent to one batch with all their sequences.
TEST(Trainer, BatchesOfAStepEqualOneLargeBatch) {
  auto whole = makeTrainer(), parts = makeTrainer();
  const Batch all = makeBatch(4, 12, 16);
  std::vector<Batch> halves(2);
  for (size_t i = 0; i < 2; ++i) {
    halves[i].resize(2, 12);
    std::copy_n(all.inputs.begin() + 24 * i, 24, halves[i].inputs.begin());
    std::copy_n(all.targets.begin() + 24 * i, 24, halves[i].targets.begin());
  }
  auto one = step(*whole, all, 1e-3), two = parts->step(halves, {1e-3});
  ASSERT_TRUE(one && two);
  EXPECT_NEAR(one->loss, two->loss, 1e-6);
  EXPECT_NEAR(one->gradientNorm, two->gradientNorm, 1e-5 * one->gradientNorm);
  EXPECT_EQ(parts->steps(), 1);
  const std::vector<float> a = contents(whole->model().gradients());
  const std::vector<float> b = contents(parts->model().gradients());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-6);
}

TEST(Trainer, RespectsMinimaAndDecayFlags) {
  auto trainer = makeTrainer();
  const ParameterLayout &layout = trainer->model().layout();
  Optimizers adam(layout, compiledKernels(), {.adamw = {.weightDecay = 1.0}});
  ParameterBlock values(layout.extent()), gradients(layout.extent());
  for (const Parameter &parameter : layout.all())
    std::fill_n(values.at(parameter), parameter.count, 0.5f);
  ASSERT_TRUE(adam.step(values, gradients, {0, {0}}, {0.1}, inOrder));
  for (const Parameter &parameter : layout.all()) {
    bool slopes = parameter.name.ends_with(".slopes");
    EXPECT_FLOAT_EQ(values.at(parameter)[0], slopes ? 0.5f : 0.45f) << parameter.name;
    if (slopes)
      std::fill_n(gradients.at(parameter), parameter.count, 1.0f);
  }
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(adam.step(values, gradients, {1, {1}}, {0.1}, inOrder));
  for (const Parameter &parameter : layout.all())
    if (parameter.name.ends_with(".slopes")) {
      EXPECT_EQ(values.at(parameter)[0], 0.01f);
    }
}

TEST(Trainer, EncodingsHaveSeparateRateAndDecay) {
  ParameterLayout layout;
  layout.add("w", {4, 4}, Role::Mlp);
  layout.add("table", {4, 4}, Role::Encoding);
  ParameterBlock gradients(layout.extent());
  auto after = [&](const AdamWConfig &config, const Rates &rates) {
    Optimizers adam(layout, compiledKernels(), {.adamw = config});
    ParameterBlock values(layout.extent());
    for (const Parameter &parameter : layout.all())
      std::fill_n(values.at(parameter), parameter.count, 1.0f);
    EXPECT_TRUE(adam.step(values, gradients, {0, {0}}, rates, inOrder));
    return std::pair(values.at(layout[0])[0], values.at(layout[1])[0]);
  };
  Rates rates = {0.1};
  EXPECT_EQ(after({.weightDecay = 0.5}, rates), std::pair(0.95f, 0.95f));
  EXPECT_EQ(after({.weightDecay = 0.5, .encodingDecay = 0.1}, rates), std::pair(0.95f, 0.99f));
  rates.encoding = 0.2;
  EXPECT_EQ(after({.weightDecay = 0.5}, rates), std::pair(0.95f, 0.9f));
}

TEST(Trainer, ClipsByTheGlobalNorm) {
  ParameterLayout layout;
  layout.add("a", {8}, Role::Mlp);
  layout.add("b", {24}, Role::Mlp);
  ParameterBlock gradients(layout.extent()), small(layout.extent());
  for (const Parameter &parameter : layout.all())
    for (int64_t i = 0; i < parameter.count; ++i) {
      gradients.at(parameter)[i] = 2.0f;
      small.at(parameter)[i] = 0.125f;
    }
  Optimizers adam(layout, compiledKernels(), {.adamw = {.weightDecay = 0, .clip = std::sqrt(0.5)}});
  const Norms norms = adam.norms(gradients, inOrder);
  EXPECT_NEAR(norms.total, std::sqrt(32 * 4.0), 1e-9);
  EXPECT_EQ(norms.each, std::vector<double>{norms.total});
  ParameterBlock clipped(layout.extent()), scaled(layout.extent());
  ASSERT_TRUE(adam.step(clipped, gradients, norms, {0.1}, inOrder));
  EXPECT_NEAR(adam.find("m", 1)[23], 0.1 * 0.125, 1e-8);
  Optimizers other(layout, compiledKernels(), {.adamw = {.weightDecay = 0, .clip = 0}});
  ASSERT_TRUE(other.step(scaled, small, {0, {std::sqrt(0.5)}}, {0.1}, inOrder));
  for (int64_t index : {0, 1})
    for (int64_t i = 0; i < layout[index].count; ++i)
      EXPECT_EQ(adam.find("m", index)[i], other.find("m", index)[i]);
  EXPECT_EQ(contents(clipped), contents(scaled));
}

TEST(Trainer, SkipsAndCountsStepsThatAreNotFinite) {
  auto trainer = makeTrainer();
  run(*trainer, 2);
  trainer->model().values().data()[3] = std::nanf("");
  std::vector<float> weights = contents(trainer->model().values());
  const auto moments = blocks(*trainer, "m");
  Batch batch = makeBatch(1, 12, 16);
  batch.inputs[0] = 0;
  for (int i = 1; i < 20; ++i) {
    auto report = step(*trainer, batch, 1e-3);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->skipped);
    EXPECT_EQ(trainer->skipped(), i);
  }
  std::vector<float> after = contents(trainer->model().values());
  EXPECT_EQ(std::memcmp(after.data(), weights.data(), after.size() * sizeof(float)), 0);
  EXPECT_EQ(blocks(*trainer, "m"), moments);
  auto last = step(*trainer, batch, 1e-3);
  ASSERT_FALSE(last);
  EXPECT_NE(last.error().getMessage().find("in 20 consecutive steps"), std::string::npos);
}

TEST(Trainer, FrozenParametersKeepTheirValues) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Muon}) {
    auto model = makeModel(kSmall);
    ASSERT_TRUE(model->freeze("^embedding$|\\.w[qk]$|slopes"));
    Trainer trainer(std::move(model), compiledKernels(), {kind}, inOrder);
    const std::vector<float> before = contents(trainer.model().values());
    run(trainer, 3);
    int64_t frozen = 0;
    const ParameterLayout &layout = trainer.model().layout();
    for (int64_t index = 0; index < layout.size(); ++index) {
      const Parameter &p = layout[index];
      const float *now = trainer.model().values().at(p);
      const bool same = std::equal(now, now + p.count, before.begin() + p.offset);
      EXPECT_EQ(same, p.frozen) << p.name;
      EXPECT_EQ(trainer.optimizers().nameOf(index) == "none", p.frozen) << p.name;
      frozen += p.frozen;
    }
    EXPECT_EQ(frozen, 1 + 2 * 2 + 2);
    auto reports = trainer.reinitialise({.settings = {.seed = 1}});
    ASSERT_TRUE(reports);
    EXPECT_EQ(reports->size(), 8u);
  }
}

TEST(Trainer, FreezeMustMatchSomeParametersButNotAll) {
  auto model = makeModel(kSmall);
  auto message = [&](const std::string &pattern) {
    Status status = model->freeze(pattern);
    return status ? "" : status.error().getMessage();
  };
  EXPECT_EQ(message("nothing"),
            "expected a pattern that matches the name of some parameter, such as "
            "'^embedding' or 'bias', found 'nothing', which matches none");
  EXPECT_EQ(message("."), "expected a pattern that leaves something to train, found '.', which "
                          "matches every parameter");
  EXPECT_NE(message("(").find("expected a POSIX regular expression, found '('"), std::string::npos);
}

} // namespace
