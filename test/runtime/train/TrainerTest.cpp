//===- TrainerTest.cpp - Steps, resets, checkpoints, evaluation -----------===//

#include "runtime/train/trainer/Trainer.h"
#include "Models.h"
#include "NaiveDecoder.h"
#include "runtime/core/File.h"
#include "runtime/core/FileLimit.h"
#include "runtime/core/Safetensors.h"
#include "runtime/train/reinit/Polar.h"
#include "runtime/train/trainer/Checkpoint.h"
#include "runtime/train/trainer/Evaluate.h"
#include "runtime/train/trainer/Schedule.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numbers>

using namespace pe;
using namespace pe::test;
using namespace pe::train;
namespace fs = std::filesystem;

namespace {

const DecoderConfig kSmall{
    .layers = 2, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 2, .vocabulary = 16};

std::unique_ptr<Trainer> makeTrainer(const OptimizerConfig &config = {},
                                     ParallelFor &parallel = inOrder) {
  return std::make_unique<Trainer>(makeModel(kSmall), compiledKernels(), config, parallel);
}

Expected<StepReport> step(Trainer &trainer, const Batch &batch, double rate) {
  return trainer.step({&batch, 1}, std::vector<double>(trainer.optimizers().all().size(), rate));
}

void run(Trainer &trainer, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    auto report = step(trainer, makeBatch(3, 12, 16, 100 + trainer.steps()), 3e-3);
    ASSERT_TRUE(report) << report.error().getMessage();
    ASSERT_FALSE(report->skipped);
  }
}

std::vector<float> contents(const ParameterBlock &block) {
  return {block.data(), block.data() + block.size()};
}

/// The block of every parameter that has one of this name.
std::map<std::string, std::vector<float>> blocks(Trainer &trainer, std::string_view name) {
  std::map<std::string, std::vector<float>> result;
  const ParameterLayout &layout = trainer.model().layout();
  for (int64_t index = 0; index < layout.size(); ++index)
    if (const float *block = trainer.optimizers().find(name, index))
      result[layout[index].name].assign(block, block + layout[index].extent);
  return result;
}

TEST(Trainer, LearnsABatchByHeart) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Muon}) {
    auto trainer = makeTrainer({kind, {.weightDecay = 0}, {.weightDecay = 0}});
    Batch batch = makeBatch(2, 12, 16);
    double first = step(*trainer, batch, 1e-2)->loss, last = first;
    for (int i = 0; i < 150; ++i)
      last = step(*trainer, batch, 1e-2)->loss;
    EXPECT_LT(last, 0.25 * first);
  }
}

TEST(Trainer, IsTheSameOnAnyThreads) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Muon}) {
    auto one = makeTrainer({kind}), three = makeTrainer({kind}, onThreads);
    run(*one, 5);
    run(*three, 5);
    EXPECT_EQ(contents(one->model().values()), contents(three->model().values()));
  }
}

// The batches of a step count like one batch of all their sequences.
TEST(Trainer, BatchesOfAStepAreOne) {
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

TEST(Trainer, KeepsMinimaAndLeavesUndecayedParametersAlone) {
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
  EXPECT_NE(last.error().getMessage().find("in 20 steps in a row"), std::string::npos);
}

/// Reinit changes the targets' weights and state; everything else stays bit for bit.
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

/// The baselines and the published steps, by what they leave of the weights.
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

TEST(Trainer, ReinitRefusesNanAndChangesNothing) {
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

struct CheckpointTest : testing::Test {
  fs::path directory = fs::temp_directory_path() / "pe-checkpoint-test";
  Metadata metadata = {{"config", "{\"dim\":16}"}};

  void SetUp() override { fs::remove_all(directory); }
  void TearDown() override { fs::remove_all(directory); }

  fs::path pathOf(const std::string &file) {
    return directory / "step-1" / (file + ".safetensors");
  }
  Safetensors readFileOf(const std::string &file) {
    auto read = readSafetensors(pathOf(file).string());
    EXPECT_TRUE(read);
    return read ? *read : Safetensors();
  }
  /// Writes both files of step 1 with digests that fit.
  void rewrite(Safetensors model, Safetensors optimizer) {
    model.metadata["pe.sha256"] = optimizer.metadata["pe.model.sha256"] = digestOf(model);
    optimizer.metadata["pe.sha256"] = digestOf(optimizer);
    ASSERT_TRUE(writeSafetensors(pathOf("model").string(), model));
    ASSERT_TRUE(writeSafetensors(pathOf("optimizer").string(), optimizer));
  }
  static Tensor &tensorOf(Safetensors &file, const std::string &name) {
    return const_cast<Tensor &>(*file.find(name));
  }

  std::string loadError(const Metadata &expected) {
    auto trainer = makeTrainer();
    Status status = loadCheckpoint(directory.string(), *trainer, expected);
    return status ? "" : status.error().getMessage();
  }
};

TEST_F(CheckpointTest, ResumingIsTheUninterruptedRun) {
  auto whole = makeTrainer();
  run(*whole, 6);
  auto begun = makeTrainer({}, onThreads);
  run(*begun, 2);
  EXPECT_FALSE(hasCheckpoint(directory.string()));
  ASSERT_TRUE(saveCheckpoint(directory.string(), *begun, metadata));
  run(*begun, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *begun, metadata));
  EXPECT_FALSE(fs::exists(directory / "step-2"));
  auto resumed = makeTrainer();
  Status status = loadCheckpoint(directory.string(), *resumed, metadata);
  ASSERT_TRUE(status) << status.error().getMessage();
  EXPECT_EQ(resumed->steps(), 3);
  run(*resumed, 3);
  EXPECT_EQ(contents(resumed->model().values()), contents(whole->model().values()));
  EXPECT_EQ(blocks(*resumed, "v"), blocks(*whole, "v"));
}

TEST_F(CheckpointTest, ResumesWithMuon) {
  for (MuonOrthogonal orthogonal :
       {MuonOrthogonal::Quintic, MuonOrthogonal::PolarExpress, MuonOrthogonal::Qdwh}) {
    const OptimizerConfig config{OptimizerKind::Muon, {}, {.orthogonal = orthogonal}};
    auto whole = makeTrainer(config), begun = makeTrainer(config, onThreads);
    run(*whole, 6);
    run(*begun, 3);
    ASSERT_TRUE(saveCheckpoint(directory.string(), *begun, metadata));
    for (ParallelFor *parallel :
         {static_cast<ParallelFor *>(&inOrder), static_cast<ParallelFor *>(&onThreads)}) {
      auto resumed = makeTrainer(config, *parallel);
      Status status = loadCheckpoint(directory.string(), *resumed, metadata);
      ASSERT_TRUE(status) << status.error().getMessage();
      run(*resumed, 3);
      EXPECT_EQ(contents(resumed->model().values()), contents(whole->model().values()));
      EXPECT_EQ(blocks(*resumed, "momentum"), blocks(*whole, "momentum"));
    }
  }
  EXPECT_NE(loadError(metadata).find("expected a tensor 'm.layer0.attention.wq', found none"),
            std::string::npos);
}

// A checkpoint of a version that knew fewer flags and saved less.
TEST_F(CheckpointTest, WhatAnOldCheckpointLacksHasItsDefault) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
  Safetensors optimizer = readFileOf("optimizer");
  std::erase_if(optimizer.tensors,
                [](const NamedTensor &entry) { return entry.name == "skipped.in_a_row"; });
  rewrite(readFileOf("model"), optimizer);
  EXPECT_EQ(loadError(metadata), "");
  int64_t more = 5;
  const std::vector<StatePart> parts = {{"event.count", viewOf(more), 0, false}};
  Metadata now = metadata;
  now["pe.train.accumulate"] = "1";
  auto resumed = makeTrainer();
  EXPECT_TRUE(
      loadCheckpoint(directory.string(), *resumed, now, {{"pe.train.accumulate", "1"}}, parts));
  EXPECT_EQ(more, 5);
  EXPECT_EQ(resumed->steps(), 1);
  now["pe.train.accumulate"] = "2";
  Status status =
      loadCheckpoint(directory.string(), *resumed, now, {{"pe.train.accumulate", "1"}}, parts);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().getMessage().find("expected --accumulate=2 as given, found "
                                             "--accumulate=1"),
            std::string::npos);
  // What it does have is read, and checked.
  for (int64_t value : {1, 7}) {
    more = value;
    ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata, parts));
    more = 0;
    Status loaded = loadCheckpoint(directory.string(), *resumed, metadata, {}, parts);
    EXPECT_EQ(static_cast<bool>(loaded), value == 1);
    EXPECT_EQ(more, value == 1 ? 1 : 0);
  }
}

TEST_F(CheckpointTest, RefusesWhatDoesNotFit) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
  EXPECT_NE(loadError({{"config", "{\"dim\":32}"}}).find("resume with the flags"),
            std::string::npos);

  Safetensors model = readFileOf("model"), optimizer = readFileOf("optimizer");
  Safetensors missing = model;
  missing.tensors.erase(missing.tensors.begin());
  rewrite(missing, optimizer);
  EXPECT_NE(loadError(metadata).find("expected a tensor 'embedding', found none"),
            std::string::npos);
  Safetensors misshaped = model;
  misshaped.tensors[0].tensor = Tensor::zeros(DType::F32, {4, 4});
  rewrite(misshaped, optimizer);
  EXPECT_NE(loadError(metadata).find("expected tensor 'embedding' to be f32 [16, 16], found f32 "
                                     "[4, 4]"),
            std::string::npos);
  rewrite(model, optimizer);
  EXPECT_EQ(loadError(metadata), "");
  ASSERT_TRUE(writeFileAtomically((directory / "latest").string(), "../elsewhere"));
  EXPECT_NE(loadError(metadata).find("expected step-N, found '../elsewhere'"), std::string::npos);
}

TEST_F(CheckpointTest, FlagsThatDifferAreNamedWithBothValues) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, {{"pe.train.steps", "600"}}));
  EXPECT_EQ(loadError({{"pe.train.steps", "300"}}),
            "file '" + pathOf("model").string() +
                "': expected --steps=300 as given, found "
                "--steps=600; resume with the flags of the first run");
}

// Numbers by their values, files by their contents, and both as earlier versions wrote them.
TEST_F(CheckpointTest, WhatIsTheSameMayBeSpelledOtherwise) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  const Metadata first = {{"pe.train.lr", "3e-3"},
                          {"pe.train.freeze", "1e1"},
                          {"pe.train.seed", "9007199254740993"},
                          {"pe.train.data", "there"},
                          {"pe.train.data.sha256", "abc"},
                          {"pe.train.encoding", "a.mlir"}};
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, first));
  const Metadata presets = {
      {"pe.train.lr", "0.003"}, {"pe.train.seed", "0"}, {"pe.train.freeze", ""}};
  auto errorWith = [&](const std::string &key, const std::string &value) {
    Metadata given = first;
    given[key] = value;
    Status status = loadCheckpoint(directory.string(), *trainer, given, presets);
    return status ? "" : status.error().getMessage().substr(pathOf("model").string().size() + 9);
  };
  EXPECT_EQ(errorWith("pe.train.lr", "0.003"), "");
  EXPECT_NE(errorWith("pe.train.lr", "0.0031"), "");
  EXPECT_NE(errorWith("pe.train.seed", "9007199254740992"), "");
  EXPECT_NE(errorWith("pe.train.freeze", "10"), "");
  EXPECT_EQ(errorWith("pe.train.data", "elsewhere"), "");
  EXPECT_EQ(errorWith("pe.train.data.sha256", "abd"),
            "expected what --data names to have the content of the first run, SHA-256 abc, found "
            "abd; resume with the same text and files");
  // A checkpoint without the hash is judged by the name.
  EXPECT_EQ(errorWith("pe.train.encoding.sha256", "abd"), "");
  EXPECT_NE(errorWith("pe.train.encoding", "b.mlir"), "");
}

TEST_F(CheckpointTest, KeepsTheLastOnesThatAreComplete) {
  auto trainer = makeTrainer();
  for (int step = 1; step <= 4; ++step) {
    run(*trainer, 1);
    if (step == 4) // as if killed
      fs::remove(directory / "step-2" / "model.safetensors");
    ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata, {}, /*keep=*/3));
  }
  auto names = [&] {
    std::vector<std::string> list;
    for (const auto &entry : fs::directory_iterator(directory))
      list.push_back(entry.path().filename().string());
    std::sort(list.begin(), list.end());
    return list;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-1", "step-3", "step-4"}));
  ASSERT_TRUE(writeFileAtomically((directory / "latest").string(), "step-3"));
  removeLeftovers(directory.string(), 2);
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-1", "step-3"}));
  EXPECT_EQ(loadError(metadata), "");
}

TEST_F(CheckpointTest, NumbersThatCannotBeAreRefused) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
  const Safetensors model = readFileOf("model"), optimizer = readFileOf("optimizer");
  const auto expectRefused = [&](const std::string &name, auto value, const std::string &message) {
    Safetensors changedModel = model, changedOptimizer = optimizer;
    for (Safetensors *file : {&changedModel, &changedOptimizer})
      for (NamedTensor &entry : file->tensors)
        if (entry.name == name) {
          entry.tensor = entry.tensor.clone();
          entry.tensor.data<decltype(value)>()[0] = value;
        }
    rewrite(changedModel, changedOptimizer);
    EXPECT_NE(loadError(metadata).find(message), std::string::npos) << loadError(metadata);
  };
  expectRefused("steps", int64_t(1) << 62,
                "tensor 'steps' to hold 0 to 1, found 4611686018427387904");
  expectRefused("steps", int64_t(-1), "tensor 'steps' to hold 0 to 1, found -1");
  expectRefused("steps", int64_t(0), "expected 1 steps in ");
  expectRefused("skipped", int64_t(2), "tensor 'skipped' to hold 0 to 1, found 2");
  expectRefused("updates", int64_t(-7), "tensor 'updates' to hold 0 to 1, found -7");
  expectRefused("embedding", std::nanf(""), "tensor 'embedding' to hold finite numbers, found nan");
  expectRefused("m.embedding", INFINITY, "tensor 'm.embedding' to hold finite numbers, found inf");
  expectRefused("v.embedding", -1.0f, "tensor 'v.embedding' to hold finite numbers of at least 0");
}

TEST_F(CheckpointTest, DamageAndFilesOfTwoCheckpointsAreFound) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
  const Safetensors model = readFileOf("model");
  Safetensors damaged = model;
  damaged.tensors[0].tensor = damaged.tensors[0].tensor.clone();
  damaged.tensors[0].tensor.data<float>()[3] += 1;
  ASSERT_TRUE(writeSafetensors(pathOf("model").string(), damaged));
  EXPECT_NE(loadError(metadata).find("the file is damaged"), std::string::npos);
  damaged.metadata["pe.sha256"] = digestOf(damaged);
  ASSERT_TRUE(writeSafetensors(pathOf("model").string(), damaged));
  EXPECT_NE(loadError(metadata).find("expected the optimizer's state of the model beside it"),
            std::string::npos);
}

// The next checkpoint removes leftovers of a killed run; foreign files stay.
TEST_F(CheckpointTest, LeftoversGoAndForeignFilesStay) {
  const auto write = [&](const std::string &name) {
    fs::create_directories((directory / name).parent_path());
    ASSERT_TRUE(writeFileAtomically((directory / name).string(), "x"));
  };
  write("step-7/model.safetensors");
  write("step-7/optimizer.safetensors.tmp.12.0");
  write("step-8/model.safetensors");
  write("step-8/notes.txt");
  write("step-1/model.safetensors.tmp.99.3");
  write("latest.tmp.1.2");
  write("latest.txt");
  write("step-mine/model.safetensors");
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
  std::vector<std::string> left;
  for (const auto &entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file())
      left.push_back(fs::relative(entry.path(), directory).string());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"latest", "latest.txt", "step-1/model.safetensors",
                                            "step-1/optimizer.safetensors", "step-8/notes.txt",
                                            "step-mine/model.safetensors"}));
  EXPECT_FALSE(fs::exists(directory / "step-7"));
  // The last checkpoint of a run has no next one.
  write("step-0/optimizer.safetensors");
  removeLeftovers(directory.string());
  EXPECT_FALSE(fs::exists(directory / "step-0"));
  EXPECT_EQ(loadError(metadata), "");
}

// A restarted run reaches the step of the existing checkpoint: until the new one is complete the
// old one must stay unchanged.
TEST_F(CheckpointTest, TheSameStepIsWrittenBesideTheOld) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  for (const char *name : {"step-1", "step-1.1", "step-1"}) {
    ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
    EXPECT_EQ(*readFile((directory / "latest").string()), name);
    EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 2);
    EXPECT_EQ(loadError(metadata), "");
  }
}

TEST_F(CheckpointTest, AFailureLeavesTheCheckpointBefore) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
  run(*trainer, 1);
  const std::string written = test::withFileLimit(
      1000, [&]() -> Status { return saveCheckpoint(directory.string(), *trainer, metadata); });
  EXPECT_NE(written.find("cannot write: File too large"), std::string::npos) << written;
  EXPECT_EQ(*readFile((directory / "latest").string()), "step-1");
  EXPECT_EQ(loadError(metadata), "");
}

TEST(Evaluation, ScoresTheSameCharactersWithMoreContext) {
  auto model = makeModel(kSmall);
  NaiveDecoder naive(*model);
  Text text;
  text.starts = {0};
  Random random(3, "text");
  for (int i = 0; i < 200; ++i)
    text.tokens.push_back(static_cast<int32_t>(random.below(16)));
  Evaluation evaluation{.lengths = {8, 24}, .windows = 3, .scored = 4};
  auto bits = evaluate(*model, text, {}, evaluation, inOrder);
  ASSERT_TRUE(bits) << bits.error().getMessage();
  auto starts = evaluationWindows(text, 3, 24);
  for (int64_t length : evaluation.lengths) {
    double sum = 0;
    for (int64_t start : *starts) {
      Batch batch;
      batch.resize(1, length);
      batch.set(0, text, start + 24 - length);
      EXPECT_EQ(batch.targets.back(), text.tokens[start + 24]);
      std::vector<double> losses = naive.losses(batch);
      for (int64_t i = length - 4; i < length; ++i)
        sum += losses[i];
    }
    EXPECT_NEAR((*bits)[length], sum / 12 / std::numbers::ln2, 1e-4);
  }
}

// What is masked does not depend on the context, and every scored token is scored once at most.
TEST(Evaluation, ScoresWhatIsMasked) {
  DecoderConfig config = kSmall;
  config.vocabulary = 17;
  auto model = makeModel(config);
  NaiveDecoder naive(*model);
  Text text;
  text.starts = {0};
  Random random(3, "text");
  for (int i = 0; i < 200; ++i)
    text.tokens.push_back(static_cast<int32_t>(random.below(16)));
  const BatchRules rules{.objective = Objective::Masked, .maskToken = 16};
  Evaluation evaluation{.lengths = {8, 24}, .windows = 3, .scored = 6};
  auto bits = evaluate(*model, text, rules, evaluation, inOrder);
  ASSERT_TRUE(bits) << bits.error().getMessage();
  auto starts = evaluationWindows(text, 3, 24);
  std::map<int64_t, std::vector<int32_t>> scored;
  for (int64_t length : evaluation.lengths) {
    double sum = 0, weight = 0;
    for (int64_t start : *starts) {
      Batch batch;
      batch.resize(1, length);
      batch.set(0, text, start + 24 - length);
      Random mask(0, "evaluation." + std::to_string(start));
      batch.mask(0, length - 6, rules, mask);
      std::vector<double> losses = naive.losses(batch);
      for (int64_t i = 0; i < length; ++i) {
        sum += losses[i];
        weight += batch.weights[i];
        if (i >= length - 6)
          scored[length].push_back(batch.inputs[i]);
        else
          EXPECT_EQ(batch.weights[i], 0);
      }
    }
    EXPECT_NEAR((*bits)[length], sum / weight / std::numbers::ln2, 1e-4);
  }
  EXPECT_EQ(scored[8], scored[24]);
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

TEST(Trainer, FreezingWantsSomeParametersAndNotAll) {
  auto model = makeModel(kSmall);
  auto message = [&](const std::string &pattern) {
    Status status = model->freeze(pattern);
    return status ? "" : status.error().getMessage();
  };
  EXPECT_EQ(message("nothing"), "expected a pattern that some parameter's name holds, such as "
                                "'^embedding' or 'bias', found 'nothing', which none does");
  EXPECT_EQ(message("."), "expected a pattern that leaves something to train, found '.', which "
                          "every parameter's name holds");
  EXPECT_NE(message("(").find("expected a POSIX regular expression, found '('"), std::string::npos);
}

TEST(Schedule, WarmsUpAndFalls) {
  Schedule linear{.decay = Decay::Linear, .peak = 2, .warmup = 4, .steps = 100};
  EXPECT_DOUBLE_EQ(linear.at(0), 0.5);
  EXPECT_DOUBLE_EQ(linear.at(3), 2);
  EXPECT_DOUBLE_EQ(linear.at(49), 2);
  EXPECT_NEAR(linear.at(74), 1.1, 1e-12);
  EXPECT_NEAR(linear.at(99), 0.2, 1e-12);
  Schedule cosine{.decay = Decay::Cosine, .peak = 2, .warmup = 4, .steps = 100};
  EXPECT_NEAR(cosine.at(49), 1.1, 1e-12);
  EXPECT_NEAR(cosine.at(99), 0.2, 1e-12);
  Schedule constant{.decay = Decay::Constant, .peak = 2, .warmup = 0, .steps = 100};
  EXPECT_DOUBLE_EQ(constant.at(0), 2);
  EXPECT_DOUBLE_EQ(constant.at(99), 2);
  Schedule wsd{.decay = Decay::Wsd, .peak = 2, .warmup = 4, .steps = 100, .finalFraction = 0};
  EXPECT_DOUBLE_EQ(wsd.at(1), 1);
  EXPECT_DOUBLE_EQ(wsd.at(79), 2);
  EXPECT_NEAR(wsd.at(84), 1, 1e-12);
  EXPECT_NEAR(wsd.at(99), 0, 1e-12);
  EXPECT_FALSE(parseDecay("exponential"));
}

} // namespace
