//===- CompilerTest.cpp - Tests of compilation and caching ----------------===//

#include "runtime/api/Compiler.h"
#include "runtime/device/cpu/ThreadPool.h"

#include "runtime/api/FakeJit.h"
#include "runtime/core/TempDir.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::api;
using pe::test::FakeCounts;
using pe::test::FakeProvider;
using pe::test::TempDir;

namespace {

class CompilerTest : public testing::Test {
protected:
  /// Creates a compiler as a new process would.
  Compiler start(const std::string &identity = "v1", bool missing = false) {
    auto provider = std::make_unique<FakeProvider>(counts, identity);
    provider->missing = missing;
    return Compiler(std::move(provider), DiskCache(dir.name()));
  }

  TempDir dir;
  FakeCounts counts;
  jit::CompileRequest request{.source = {"source", "file.mlir", ""}};
};

} // namespace

TEST_F(CompilerTest, RunsCompiledCode) {
  Compiler compiler = start();
  auto function = compiler.compile(request);
  ASSERT_TRUE(function) << function.error().getMessage();
  cpu::ThreadPool pool({.threads = 2});
  Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  auto call = (*function)->runner->forward({{"x", x}}, {}, pool);
  ASSERT_TRUE(call) << call.error().getMessage();
  EXPECT_EQ((*call)->results().at("y").values<float>()[5], 12);
  EXPECT_EQ((*function)->explainText, "doubles source");
}

TEST_F(CompilerTest, CompilesOncePerProcess) {
  Compiler compiler = start();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(compiler.describe(request.source));
    ASSERT_TRUE(compiler.compile(request));
  }
  EXPECT_EQ(counts.prepares, 1);
  EXPECT_EQ(counts.compiles, 1);
  EXPECT_EQ(compiler.statistics().compiled, 1);
  EXPECT_EQ(compiler.statistics().fromMemory, 2);
}

// Description, code for several targets, stages and rewritten programs begin with one preparation.
TEST_F(CompilerTest, PreparesASourceOnce) {
  Compiler compiler = start();
  ASSERT_TRUE(compiler.describe(request.source));
  ASSERT_TRUE(compiler.compile(request));
  ASSERT_TRUE(compiler.compileToBundle(request));
  ASSERT_TRUE(compiler.emit(request, jit::EmitStage::PE));
  ASSERT_TRUE(compiler.represent({.source = request.source}));
  EXPECT_EQ(counts.prepares, 1);
  EXPECT_EQ(compiler.statistics().prepared, 1);
  jit::CompileRequest other = request;
  other.source.attributes = {{"base", "2"}};
  ASSERT_TRUE(compiler.compile(other));
  EXPECT_EQ(counts.prepares, 2);
}

// Prepared programs take memory, so only the last ones are kept.
TEST_F(CompilerTest, PreparesAgainAfterManyOthers) {
  Compiler compiler = start();
  const auto describe = [&](int source) {
    ASSERT_TRUE(compiler.describe({std::to_string(source), "file.mlir", ""}));
  };
  const auto emit = [&](int source) {
    request.source.text = std::to_string(source);
    ASSERT_TRUE(compiler.emit(request, jit::EmitStage::PE));
  };
  for (int source = 0; source < 4; ++source)
    describe(source);
  emit(0);
  EXPECT_EQ(counts.prepares, 4);
  describe(4); // replaces 1, which was used least recently
  emit(0);
  EXPECT_EQ(counts.prepares, 5);
  emit(1);
  EXPECT_EQ(counts.prepares, 6);
}

TEST_F(CompilerTest, NextProcessDoesNotLoadTheCompiler) {
  {
    Compiler compiler = start();
    ASSERT_TRUE(compiler.describe(request.source));
    ASSERT_TRUE(compiler.compile(request));
  }
  counts = {};
  Compiler compiler = start();
  auto description = compiler.describe(request.source);
  ASSERT_TRUE(description);
  EXPECT_EQ((*description)->entry.arguments[0].sizes[1], "r");
  EXPECT_EQ((*description)->entry.location, "file.mlir:1:1");
  auto function = compiler.compile(request);
  ASSERT_TRUE(function);
  EXPECT_EQ((*function)->explainText, "doubles source");
  EXPECT_EQ(compiler.statistics().fromDisk, 1);
  EXPECT_EQ(counts.loads + counts.prepares + counts.compiles, 0);
}

// The cache key contains everything that affects the code.
TEST_F(CompilerTest, KernelsAreCompiledOnceForAllProcesses) {
  for (int process = 0; process < 2; ++process) {
    Compiler compiler = start();
    auto code = compiler.compileKernels(request.source);
    ASSERT_TRUE(code) << code.error().getMessage();
    EXPECT_NE((*code)->lookup("fakeDouble"), nullptr);
    EXPECT_EQ(compiler.statistics().fromDisk, process);
  }
  EXPECT_EQ(counts.kernels, 1);
  Compiler compiler = start();
  ASSERT_TRUE(compiler.compileKernels({"other source", "file.mlir", ""}));
  EXPECT_EQ(counts.kernels, 2);
}

TEST_F(CompilerTest, EveryFieldOfTheRequestIsInTheKey) {
  Compiler compiler = start();
  ASSERT_TRUE(compiler.compile(request));
  std::vector<jit::CompileRequest> others(16, request);
  others[0].source.text += " ";
  others[1].source.entry = "double";
  others[2].features = "x86-64-v3";
  others[3].headDim = 32;
  others[4].valueDim = 32;
  others[5].dtype = DType::BF16;
  others[6].grad = true;
  others[7].earlyExit = false;
  others[8].lowering = plan::Lowering::Loops;
  others[9].loops.blockRows = 1;
  others[10].loops.blockColumns = 1;
  others[11].loops.owner = LoopOptions::Owner::Columns;
  others[12].loops.useStop = true;
  others[13].loops.useSkip = true;
  others[14].materialize = true;
  others[15].pairsMemory = 0;
  for (size_t i = 0; i < others.size(); ++i) {
    ASSERT_TRUE(compiler.compile(others[i]));
    EXPECT_EQ(counts.compiles, static_cast<int>(i) + 2);
  }
}

TEST_F(CompilerTest, NewCompilerCompilesAgain) {
  {
    Compiler compiler = start("v1");
    ASSERT_TRUE(compiler.compile(request));
  }
  Compiler compiler = start("v2");
  ASSERT_TRUE(compiler.compile(request));
  EXPECT_EQ(counts.compiles, 2);
}

TEST_F(CompilerTest, RebuildsDamagedEntries) {
  {
    Compiler compiler = start();
    ASSERT_TRUE(compiler.compile(request));
  }
  for (const auto &file : std::filesystem::directory_iterator(dir.name())) {
    Expected<std::string> bytes = readFile(file.path());
    ASSERT_TRUE(bytes);
    (*bytes)[bytes->size() / 2] ^= 1;
    ASSERT_TRUE(writeFileAtomically(file.path(), *bytes));
  }
  for (int process = 0; process < 2; ++process) {
    Compiler compiler = start();
    ASSERT_TRUE(compiler.compile(request));
  }
  EXPECT_EQ(counts.compiles, 2);
}

// The code relies on the buffers of the plan, so an edited plan is rejected even if the checksum is
// valid.
TEST_F(CompilerTest, RejectsAPlanOfOtherCode) {
  Compiler compiler = start();
  auto bundle = compiler.compileToBundle(request);
  ASSERT_TRUE(bundle) << bundle.error().getMessage();
  EXPECT_TRUE(loadFunction(*bundle));
  const auto errorOf = [](const Bundle &changed) {
    auto function = loadFunction(changed);
    return function ? "" : function.error().getMessage();
  };
  Bundle changed = *bundle;
  std::string &plan = changed["plan"];
  plan.replace(plan.find("\"r\""), 3, "\"1\"");
  EXPECT_NE(errorOf(changed).find("expected a plan and code that were compiled together"),
            std::string::npos);
  changed = *bundle;
  changed["object"] += '\0';
  EXPECT_NE(errorOf(changed).find("compiled together"), std::string::npos);
  changed = *bundle;
  changed.erase("digest");
  EXPECT_NE(errorOf(changed).find("compiled together"), std::string::npos);
}

TEST_F(CompilerTest, ErrorsAreReturnedAndNotCached) {
  Compiler compiler = start();
  auto description = compiler.describe({"bad", "file.mlir", ""});
  ASSERT_FALSE(description);
  EXPECT_EQ(description.error().getLocation(), "file.mlir:1:1");
  request.source.text = "uncompilable";
  for (int i = 1; i <= 2; ++i) {
    auto function = compiler.compile(request);
    ASSERT_FALSE(function);
    EXPECT_EQ(function.error().getLocation(), "file.mlir:2:3");
    EXPECT_EQ(counts.compiles, i);
  }
}

TEST_F(CompilerTest, MissingCompilerIsAOneLineError) {
  Compiler compiler = start("v1", /*missing=*/true);
  auto function = compiler.compile(request);
  ASSERT_FALSE(function);
  EXPECT_EQ(function.error().render("pe run"), "pe run: error: the compiler library is missing");
}
