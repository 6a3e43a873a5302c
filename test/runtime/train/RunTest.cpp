//===- RunTest.cpp - pe/train.h from another program ----------------------===//
//
// Links libpe_train.a and libpe.so. Tests steps, parameters in place, reinit, checkpoints and
// errors.
//
//===----------------------------------------------------------------------===//

#include "pe/train.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace pe;

namespace {

/// Runs work items on the calling thread, and counts them.
class Inline : public ParallelFor {
public:
  int threads() const override { return 1; }
  void run(int64_t items, Body body, void *context) override {
    for (int64_t item = 0; item < items; ++item)
      body(context, item);
    count += items;
  }
  int64_t count = 0;
};

class RunTest : public testing::Test {
protected:
  RunTest() {
    ::setenv("XDG_CACHE_HOME", (std::string(PE_TEST_BINARY_DIR) + "/test/cache").c_str(), 1);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder + "/text");
    for (int file = 0; file < 10; ++file) {
      std::ofstream out(folder + "/text/" + std::to_string(file) + ".txt");
      for (int line = 0; line < 60; ++line)
        out << "line " << line * (file + 7) % 31 << " of file " << file << "\n";
    }
  }

  std::vector<std::string> flags(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"--data=" + folder + "/text",
                                    "--layers=1",
                                    "--dim=32",
                                    "--heads=2",
                                    "--kv-heads=2",
                                    "--seq=32",
                                    "--batch=2",
                                    "--eval-lengths=32",
                                    "--threads=1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static std::string errorOf(const std::vector<std::string> &flags) {
    auto run = train::Run::open(flags);
    return run ? "" : run.error().getMessage();
  }

  static std::vector<float> weights(train::Run &run) {
    std::vector<float> all;
    for (const View &view : run.parameters()) {
      int64_t count = 1;
      for (int32_t axis = 0; axis < view.rank; ++axis)
        count *= view.shape[axis];
      const auto *data = static_cast<const float *>(view.data);
      all.insert(all.end(), data, data + count);
    }
    return all;
  }

  static View find(train::Run &run, const std::string &name) {
    for (const View &view : run.parameters())
      if (view.name == name)
        return view;
    ADD_FAILURE() << name;
    return {};
  }

  const std::string folder = std::string(PE_TEST_BINARY_DIR) + "/test/tmp/run";
};

TEST_F(RunTest, UsesTheCallersThreads) {
  Inline threads;
  auto own = train::Run::open(flags({"--steps=3"})),
       given = train::Run::open(flags({"--steps=3"}), &threads);
  ASSERT_TRUE(own) << own.error().render("run");
  ASSERT_TRUE(given);
  EXPECT_EQ(given->totalSteps(), 3);
  for (int64_t step = 0; step < 3; ++step) {
    EXPECT_EQ(given->steps(), step);
    const int64_t before = threads.count;
    auto a = own->step(), b = given->step();
    ASSERT_TRUE(a);
    ASSERT_TRUE(b);
    EXPECT_EQ(b->step, step);
    EXPECT_EQ(a->loss, b->loss);
    EXPECT_EQ(b->optimizers.at(0).name, "adamw");
    EXPECT_GT(threads.count, before);
  }
  EXPECT_EQ(weights(*own), weights(*given));
  auto more = given->step();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().getMessage(),
            "expected a remaining step, found all 3 done; open the run with more --steps");
}

TEST_F(RunTest, ParametersAreViewsInPlace) {
  auto run = train::Run::open(flags({"--steps=1"}));
  ASSERT_TRUE(run);
  View head = find(*run, "head");
  ASSERT_EQ(head.rank, 2);
  std::memset(head.data, 0, head.shape[0] * head.shape[1] * sizeof(float));
  auto bits = run->evaluate();
  ASSERT_TRUE(bits);
  EXPECT_NEAR(bits->at(32), std::log2(96.0), 1e-5) << "every token is equally probable";
  auto step = run->step();
  ASSERT_TRUE(step);
  EXPECT_NEAR(step->loss, std::log(96.0), 1e-5);
}

TEST_F(RunTest, ReinitProjectsTheTarget) {
  auto run = train::Run::open(flags({"--steps=1"}));
  ASSERT_TRUE(run);
  auto reports = run->reinit({}, "mlp");
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->size(), 2u);
  EXPECT_EQ(reports->front().name, "layer0.mlp.w1");
  EXPECT_LT(reports->front().dfiAfter, 1e-9);
  EXPECT_FALSE(run->reinit({}, "everything"));

  const std::vector<float> before = weights(*run);
  View matrix = find(*run, "layer0.attention.wo");
  auto &number = static_cast<float *>(matrix.data)[5];
  const float kept = std::exchange(number, NAN);
  auto failed = run->reinit();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().getMessage().find("layer0.attention.wo"), std::string::npos);
  number = kept;
  EXPECT_EQ(weights(*run), before) << "after an error nothing has changed";
}

TEST_F(RunTest, ContinuesFromACheckpoint) {
  const std::string saved = folder + "/saved";
  auto whole = train::Run::open(flags({"--steps=4"})),
       first = train::Run::open(flags({"--steps=4"}));
  ASSERT_TRUE(whole);
  ASSERT_TRUE(first);
  for (int step = 0; step < 4; ++step)
    ASSERT_TRUE(whole->step());
  for (int step = 0; step < 2; ++step)
    ASSERT_TRUE(first->step());
  ASSERT_TRUE(first->save(saved));
  auto second = train::Run::open(flags({"--steps=4", "--checkpoint=" + saved, "--resume"}));
  ASSERT_TRUE(second) << second.error().render("run");
  EXPECT_EQ(second->steps(), 2);
  for (int step = 0; step < 2; ++step)
    ASSERT_TRUE(second->step());
  EXPECT_EQ(weights(*whole), weights(*second));
}

TEST_F(RunTest, LogsLikeTheProgram) {
  const std::string log = folder + "/run.jsonl";
  auto run = train::Run::open(flags({"--steps=1", "--log=" + log}));
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->step());
  ASSERT_TRUE(run->reinit());
  ASSERT_TRUE(run->evaluate());
  std::ifstream in(log);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const char *part : {"\"loss\"", "\"reinit\"", "bits_per_char"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST_F(RunTest, ReportsErrors) {
  EXPECT_EQ(errorOf(flags({"--trace=x.json"})),
            "expected flags of a run, found --trace; `pe train --trace` measures");
  EXPECT_EQ(errorOf({"--help"}), "expected --name=value, found '--help'");
  EXPECT_EQ(errorOf({"--steps"}), "expected --name=value, found '--steps'");
  EXPECT_EQ(errorOf({"steps=3"}), "expected --name=value, found 'steps=3'");
  EXPECT_EQ(errorOf({"--steps=3", "--steps=4"}), "--steps is given twice");
  EXPECT_EQ(errorOf({"--stepz=3"}), "unknown flag 'stepz'; did you mean 'steps'?");
  EXPECT_NE(errorOf({"--data=/nowhere"}).find("/nowhere"), std::string::npos);
  EXPECT_NE(errorOf(flags({"--encoding=none.mlir"})).find("none.mlir"), std::string::npos);
  EXPECT_NE(errorOf(flags({"--log=/nowhere/run.jsonl"})).find("/nowhere"), std::string::npos);
}

} // namespace
