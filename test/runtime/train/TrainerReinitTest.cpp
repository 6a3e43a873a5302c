//===- TrainerReinitTest.cpp - Effects of a reinit ------------------------===//

#include "Trainers.h"
#include "runtime/train/reinit/Polar.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

/// Checks that a reinit changes the weights and state of its target, and leaves everything else
/// bitwise unchanged.
void expectReinit(ReinitTarget target, Role role, bool both,
                  OptimizerKind kind = OptimizerKind::AdamW) {
  auto trainer = makeTrainer({kind});
  run(*trainer, 3);
  const ParameterLayout &layout = trainer->model().layout();
  std::vector<float> weights = contents(trainer->model().values());
  const std::vector<std::string> names = {"m", "v", "momentum"};
  std::map<std::string, std::map<std::string, std::vector<float>>> before;
  for (const std::string &name : names)
    before[name] = blocks(*trainer, name);
  auto reports = trainer->reinitialise({.target = target, .settings = {.seed = 1}});
  ASSERT_TRUE(reports) << reports.error().getMessage();
  size_t projected = 0;
  for (int64_t index = 0; index < layout.size(); ++index) {
    const Parameter &p = layout[index];
    bool chosen = p.role == role || (both && (p.role == Role::Attention || p.role == Role::Mlp));
    projected += chosen;
    int found = 0;
    for (const std::string &name : names)
      if (const float *block = trainer->optimizers().find(name, index)) {
        ++found;
        for (int64_t i = 0; i < p.extent; ++i)
          ASSERT_EQ(block[i], chosen ? 0.0f : before[name][p.name][i]) << p.name;
      }
    const bool muon = trainer->optimizers().routes()[index].optimizer == 1;
    EXPECT_EQ(found, muon ? 1 : 2) << p.name;
    for (int64_t i = p.offset; !chosen && i < p.offset + p.extent; ++i)
      ASSERT_EQ(trainer->model().values().data()[i], weights[i]) << p.name;
    EXPECT_EQ(trainer->optimizers().updates()[index], chosen ? 0 : 3) << p.name;
    if (!chosen)
      continue;
    std::vector<double> matrix(trainer->model().values().at(p),
                               trainer->model().values().at(p) + p.count);
    double scale = std::sqrt(static_cast<double>(p.shape[0]) / static_cast<double>(p.shape[1]));
    for (double &value : matrix)
      value /= scale;
    EXPECT_LT(reinit::deviationFromIsometry(p.shape[0], p.shape[1], matrix.data()), 1e-10);
  }
  EXPECT_EQ(reports->size(), projected);
  run(*trainer, 2);
}

TEST(Trainer, ReinitClearsExactlyTheProjectedParameters) {
  expectReinit(ReinitTarget::Mlp, Role::Mlp, false);
  expectReinit(ReinitTarget::Attention, Role::Attention, false);
  expectReinit(ReinitTarget::All, Role::Mlp, true);
  expectReinit(ReinitTarget::Attention, Role::Attention, false, OptimizerKind::Muon);
}

/// Compares the weights after the baselines and after the published steps.
TEST(Trainer, ReinitMethodsAndEngines) {
  auto weightsAfter = [](const std::optional<ReinitChange> &change) {
    auto trainer = makeTrainer();
    run(*trainer, 3);
    if (change) {
      auto reports = trainer->reinitialise(*change);
      EXPECT_TRUE(reports) << reports.error().getMessage();
    }
    return std::pair(contents(trainer->model().values()), trainer->model().layout().all());
  };
  const auto [before, parameters] = weightsAfter(std::nullopt);
  const auto shrunk = weightsAfter(ReinitChange{.method = reinit::Method::ShrinkPerturb}).first;
  const auto fresh = weightsAfter(ReinitChange{.method = reinit::Method::Fresh}).first;
  const auto cubic =
      weightsAfter(ReinitChange{.settings = {.engine = reinit::Engine::Cubic, .iterations = 5}})
          .first;
  for (const Parameter &p : parameters) {
    const bool chosen = p.role == Role::Attention || p.role == Role::Mlp;
    double spread = 0;
    for (int64_t i = p.offset; i < p.offset + p.count; ++i) {
      const double expected = chosen ? 0.4 * before[i] + 0.6 * fresh[i] : before[i];
      ASSERT_NEAR(shrunk[i], expected, 1e-6) << p.name;
      spread += fresh[i] * fresh[i];
    }
    if (!chosen)
      continue;
    const bool ends = p.name.ends_with(".wo") || p.name.ends_with(".w2");
    const double layers = 2,
                 variance = 1 / static_cast<double>(p.shape[1]) / (ends ? 2 * layers : 1);
    EXPECT_NEAR(spread / static_cast<double>(p.count) / variance, 1, 0.3) << p.name;
    std::vector<double> matrix(cubic.begin() + p.offset, cubic.begin() + p.offset + p.count);
    EXPECT_GT(reinit::deviationFromIsometry(p.shape[0], p.shape[1], matrix.data()), 1e-2) << p.name;
  }
}

TEST(Trainer, ReinitRejectsNanAndChangesNothing) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  const ParameterLayout &layout = trainer->model().layout();
  for (const Parameter &parameter : layout.all())
    if (parameter.name == "layer1.mlp.w2")
      trainer->model().values().at(parameter)[17] = std::nanf("");
  std::vector<float> weights = contents(trainer->model().values());
  auto reports = trainer->reinitialise({.settings = {.seed = 1}});
  ASSERT_FALSE(reports);
  EXPECT_EQ(reports.error().getMessage(),
            "parameter 'layer1.mlp.w2': expected finite weights, found nan at [0, 17]");
  std::vector<float> after = contents(trainer->model().values());
  EXPECT_EQ(std::memcmp(after.data(), weights.data(), after.size() * sizeof(float)), 0);
}

} // namespace
