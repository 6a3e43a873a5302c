//===- CheckpointTest.cpp - Save and resume a run -------------------------===//

#include "runtime/train/trainer/Checkpoint.h"
#include "ScratchFolder.h"
#include "Trainers.h"
#include "runtime/core/File.h"
#include "runtime/core/FileLimit.h"
#include "runtime/core/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace pe;
using namespace pe::test;
using namespace pe::train;
namespace fs = std::filesystem;

namespace {

struct CheckpointTest : testing::Test {
  fs::path directory = pe::test::scratchFolder("checkpoint-test");
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
  /// Writes both files of step 1 with matching digests.
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

TEST_F(CheckpointTest, ResumedRunEqualsUninterruptedRun) {
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

// A checkpoint of an older version, with fewer flags and less state.
TEST_F(CheckpointTest, OldCheckpointsUseDefaults) {
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
  // Parts that it does have are read and checked.
  for (int64_t value : {1, 7}) {
    more = value;
    ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata, parts));
    more = 0;
    Status loaded = loadCheckpoint(directory.string(), *resumed, metadata, {}, parts);
    EXPECT_EQ(static_cast<bool>(loaded), value == 1);
    EXPECT_EQ(more, value == 1 ? 1 : 0);
  }
}

TEST_F(CheckpointTest, RejectsMismatchedTensors) {
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

TEST_F(CheckpointTest, ReportsBothValuesOfDifferentFlags) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, {{"pe.train.steps", "600"}}));
  EXPECT_EQ(loadError({{"pe.train.steps", "300"}}),
            "file '" + pathOf("model").string() +
                "': expected --steps=300 as given, found "
                "--steps=600; resume with the flags of the first run");
}

// Numbers are compared by value, files by content, and both also as earlier versions wrote them.
TEST_F(CheckpointTest, AcceptsOtherSpellingsOfEqualValues) {
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
            "expected --data to have the content of the first run, SHA-256 abc, found "
            "abd; resume with the same text and files");
  // A checkpoint without the hash is compared by name.
  EXPECT_EQ(errorWith("pe.train.encoding.sha256", "abd"), "");
  EXPECT_NE(errorWith("pe.train.encoding", "b.mlir"), "");
}

TEST_F(CheckpointTest, KeepsTheLatestCompleteCheckpoints) {
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

TEST_F(CheckpointTest, RejectsImpossibleCounts) {
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

TEST_F(CheckpointTest, DetectsDamageAndMixedFiles) {
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
  EXPECT_NE(
      loadError(metadata).find("expected the optimizer state of the model in the same directory"),
      std::string::npos);
}

// The next checkpoint removes leftovers of a killed run, but no foreign files.
TEST_F(CheckpointTest, RemovesLeftoversAndKeepsForeignFiles) {
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
  // The last checkpoint of a run has no successor.
  write("step-0/optimizer.safetensors");
  removeLeftovers(directory.string());
  EXPECT_FALSE(fs::exists(directory / "step-0"));
  EXPECT_EQ(loadError(metadata), "");
}

// A restarted run reaches the step of the existing checkpoint, which must stay unchanged until the
// new one is complete.
TEST_F(CheckpointTest, SameStepIsWrittenNextToTheOldOne) {
  auto trainer = makeTrainer();
  run(*trainer, 1);
  for (const char *name : {"step-1", "step-1.1", "step-1"}) {
    ASSERT_TRUE(saveCheckpoint(directory.string(), *trainer, metadata));
    EXPECT_EQ(*readFile((directory / "latest").string()), name);
    EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 2);
    EXPECT_EQ(loadError(metadata), "");
  }
}

TEST_F(CheckpointTest, FailureKeepsThePreviousCheckpoint) {
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

} // namespace
