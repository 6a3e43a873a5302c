//===- EmbedTest.cpp - Tests of the public C++ API ------------------------===//
//
// Links only libpe.so, to test that the library is complete and finds the compiler library in its
// own directory.
//
//===----------------------------------------------------------------------===//

#include "pe/pe.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

using namespace pe;

static const std::string kExamples = std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/";
static const std::string kCache = std::string(PE_TEST_BINARY_DIR) + "/test/embed-cache";

namespace {

/// Runs `body` in a child process, which simulates a new process in which pe has not been used.
template <typename Body> double inNewProcess(Body body) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const double value = body();
    const bool written = ::write(pipe[1], &value, sizeof(value)) == sizeof(value);
    ::_exit(written ? 0 : 1);
  }
  double value = NAN;
  EXPECT_EQ(::read(pipe[0], &value, sizeof(value)), ssize_t(sizeof(value)));
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  return value;
}

/// Returns the seconds of processor time that this process has used. Unlike elapsed time, they
/// exclude the time in which other programs occupy the processors.
double processorSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

/// Returns the processor seconds to load and compile a file, or NaN after an error.
double secondsToLoad(const std::string &file) {
  const double start = processorSeconds();
  Expected<Program> program = Program::load(file);
  if (!program)
    return NAN;
  Expected<Function> function = program->compile({.grad = true});
  if (!function)
    return NAN;
  return processorSeconds() - start;
}

} // namespace

// Must be the first test, because later ones may load the compiler, which children would inherit.
TEST(Embed, LoadsACachedFunctionInMilliseconds) {
  const std::string file = kExamples + "fire.mlir";
  const double cold = inNewProcess([&] { return secondsToLoad(file); });
  EXPECT_FALSE(std::isnan(cold));
  double cached = 1;
  for (int i = 0; i < 10; ++i)
    cached = std::min(cached, inNewProcess([&] { return secondsToLoad(file); }));
  std::printf("fire with gradients: first process %.1f ms, next ones %.2f ms\n", cold * 1e3,
              cached * 1e3);
  EXPECT_LE(cached, 5e-3);
}

TEST(Embed, ForwardAndBackward) {
  Expected<Program> program = Program::load(kExamples + "alibi_learned.mlir");
  ASSERT_TRUE(program) << program.error().getMessage();
  EXPECT_EQ(program->signature().arguments.back().name, "slopes");
  Expected<Function> function = program->compile({.headDim = 16, .valueDim = 8, .grad = true});
  ASSERT_TRUE(function) << function.error().getMessage();
  EXPECT_NE(function->explain().find("softmax"), std::string::npos);
  std::unique_ptr<ParallelFor> threads = makeThreadPool(2);
  // One function handles several sizes without compiling again.
  for (int64_t queries : {1, 17, 64}) {
    const InputSizes sizes{.batch = 2, .heads = 4, .keyHeads = 2, .queries = queries, .keys = 70};
    Expected<TensorMap> inputs = function->randomInputs(1, sizes);
    ASSERT_TRUE(inputs) << inputs.error().getMessage();
    Expected<Call> call = function->forward(*inputs, {.parallel = threads.get()});
    ASSERT_TRUE(call) << call.error().getMessage();
    const Tensor &o = call->results().at("o");
    EXPECT_EQ(o.shape(), (Shape{2, 4, queries, 8}));
    Expected<TensorMap> gradients = function->backward(*call, {{"d_o", o}});
    ASSERT_TRUE(gradients) << gradients.error().getMessage();
    EXPECT_EQ(gradients->at("d_slopes").shape(), (Shape{4}));
    for (float value : gradients->at("d_q").values<float>())
      ASSERT_TRUE(std::isfinite(value));
  }
}

// Calls with one query each, at its position, return the same as one call with all queries.
TEST(Embed, PositionsAreGlobal) {
  Expected<Program> program = Program::load(kExamples + "alibi_learned.mlir");
  ASSERT_TRUE(program);
  Expected<Function> function = program->compile({.headDim = 16, .valueDim = 8, .grad = true});
  ASSERT_TRUE(function);
  Expected<TensorMap> inputs = function->randomInputs(5, {.heads = 2, .queries = 20});
  ASSERT_TRUE(inputs);
  Expected<Call> whole = function->forward(*inputs);
  ASSERT_TRUE(whole);
  const Tensor &expected = whole->results().at("o");
  for (int64_t i : {0, 7, 19}) {
    TensorMap part = *inputs;
    part["q"] = inputs->at("q").slice(2, i, i + 1);
    Expected<Call> call = function->forward(part, {.positions = {.queryStart = i}});
    ASSERT_TRUE(call) << call.error().getMessage();
    const Tensor &o = call->results().at("o");
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < 8; ++d)
        EXPECT_NEAR(o.data<float>()[o.offsetOf({0, h, 0, d})],
                    expected.data<float>()[expected.offsetOf({0, h, i, d})], 2e-6);
  }
}

TEST(Embed, PackagesRunWithoutTheSource) {
  Expected<Program> program = Program::load(kExamples + "nope.mlir");
  ASSERT_TRUE(program);
  Expected<std::string> bytes = program->package({.headDim = 8, .valueDim = 8});
  ASSERT_TRUE(bytes) << bytes.error().getMessage();
  const std::string file = kCache + "/nope.package";
  std::ofstream(file, std::ios::binary) << *bytes;
  Expected<Program> package = Program::load(file);
  ASSERT_TRUE(package) << package.error().getMessage();
  EXPECT_EQ(package->signature().name, "attention");
  Expected<Function> function = package->compile({.headDim = 8, .valueDim = 8});
  ASSERT_TRUE(function) << function.error().getMessage();
  Expected<TensorMap> inputs = function->randomInputs(1, {.heads = 1, .queries = 4});
  ASSERT_TRUE(inputs);
  EXPECT_TRUE(function->forward(*inputs));
  EXPECT_FALSE(package->compile({.headDim = 16, .valueDim = 8}));
  EXPECT_FALSE(package->compile({.headDim = 8, .valueDim = 8, .grad = true}));
  EXPECT_FALSE(Program::load(file, "other"));
}

TEST(Embed, ErrorsHaveTheUsersLine) {
  Expected<Program> program = Program::parse("func.func @a() {\n  pe.nonsense\n}\n", "mine.mlir");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().render("pe").substr(0, 21), "mine.mlir:2:3: error:");
  Expected<Program> missing = Program::load(kExamples + "none.mlir");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().getMessage().find("No such file"), std::string::npos);
}

TEST(Embed, MissingTargetsAreErrors) {
  Expected<Program> program = Program::load(kExamples + "nope.mlir");
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->compile({.target = "gpu-emulator"}));
  ::setenv("PE_CUDA_DRIVER", "/none/libcuda.so", 1);
  for (auto [target, message] :
       {std::pair{"cuda", "no NVIDIA driver on this machine"}, {"tpu", "unknown target 'tpu'"}}) {
    Expected<Function> function = program->compile({.target = target});
    ASSERT_FALSE(function);
    EXPECT_NE(function.error().getMessage().find(message), std::string::npos)
        << function.error().getMessage();
  }
}

// Compiled code and the reference check requirements on the sizes of a call before any work
// (call-C5 of docs/spec.md).
TEST(Embed, RequirementsOfACall) {
  Expected<Program> program = Program::load(kExamples + "rope_table.mlir");
  ASSERT_TRUE(program) << program.error().getMessage();
  std::optional<TensorMap> inputs;
  for (const char *target : {"cpu", "gpu-emulator", "reference"}) {
    Expected<Function> function =
        program->compile({.target = target, .headDim = 16, .valueDim = 16, .grad = true});
    ASSERT_TRUE(function) << function.error().getMessage();
    if (!inputs) // the reference has no fixed head dim
      inputs = *function->randomInputs(1, {.heads = 2, .queries = 20, .keys = 30});
    EXPECT_EQ(inputs->at("cos").shape(), (Shape{30, 8}));
    auto messageOf = [&](const TensorMap &arguments, const Positions &positions) -> std::string {
      Expected<Call> call = function->forward(arguments, {.positions = positions});
      return call ? "" : call.error().getMessage();
    };
    EXPECT_EQ(messageOf(*inputs, {}), "");
    EXPECT_EQ(
        messageOf(*inputs, {.keyStart = 3}),
        "rows of tensors 'cos' and 'sin', one for every position of the call: expected at least "
        "33, found 30");
    EXPECT_EQ(
        messageOf(*inputs, {.queryStart = 11}),
        "rows of tensors 'cos' and 'sin', one for every position of the call: expected at least "
        "31, found 30");
    EXPECT_EQ(
        messageOf(*inputs, {.keyStart = -3}),
        "k_start, the first position that tensors 'cos' and 'sin' are read at: expected at least "
        "0, found -3");
    TensorMap shorter = *inputs;
    shorter["sin"] = inputs->at("sin").slice(0, 0, 29).contiguous();
    EXPECT_NE(messageOf(shorter, {}).find("'sin'"), std::string::npos) << messageOf(shorter, {});
  }
}

// Tests call-C6 of docs/spec.md.
TEST(Embed, BasePerHeadNeedsEqualHeadCounts) {
  for (const char *target : {"cpu", "reference"}) {
    Expected<Program> program = Program::load(kExamples + "rope_per_head.mlir");
    ASSERT_TRUE(program) << program.error().getMessage();
    Expected<Function> function =
        program->compile({.target = target, .headDim = 16, .valueDim = 16});
    ASSERT_TRUE(function) << function.error().getMessage();
    Expected<TensorMap> inputs =
        function->randomInputs(1, {.heads = 4, .keyHeads = 2, .queries = 20});
    ASSERT_TRUE(inputs) << inputs.error().getMessage();
    Expected<Call> call = function->forward(*inputs);
    ASSERT_FALSE(call);
    EXPECT_EQ(
        call.error().getMessage(),
        "key heads, as many as query heads because each head has its own base: expected at least "
        "4, found 2");
  }
}

/// Returns the message of a call of an attention with this rotation on each target, "" for
/// success.
/// `tensors` are further arguments, with their types and attributes.
std::vector<std::string> messagesOfRotation(const std::string &arguments,
                                            const std::string &rotation, const TensorMap &tensors,
                                            const InputSizes &sizes) {
  const std::string text = "!t = tensor<?x?x?x?xf32>\nfunc.func @f(%q: !t {pe.name = \"q\"}, %k: "
                           "!t {pe.name = \"k\"}, %v: !t {pe.name = \"v\"}, " +
                           arguments + ") -> (!t {pe.name = \"o\"}) {\n  %r = " + rotation +
                           "\n  %o = pe.attention %q, %k, %v rotate(%r) : (!t, !t, !t) -> !t\n  "
                           "return %o : !t\n}\n";
  std::vector<std::string> messages;
  for (const char *target : {"cpu", "gpu-emulator", "reference"}) {
    Expected<Program> program = Program::parse(text, "rotation.mlir");
    Expected<Function> function =
        program ? program->compile({.target = target, .headDim = 8, .valueDim = 8})
                : Expected<Function>(program.error());
    if (!function) {
      messages.push_back("compile: " + function.error().getMessage());
      continue;
    }
    TensorMap inputs = tensors;
    const int64_t keys = sizes.keys.value_or(sizes.queries);
    inputs["q"] = Tensor::zeros(DType::F32, {sizes.batch, sizes.heads, sizes.queries, 8});
    for (const char *name : {"k", "v"})
      inputs[name] = Tensor::zeros(DType::F32, {sizes.batch, sizes.heads, keys, 8});
    Expected<Call> call = function->forward(inputs);
    messages.push_back(call ? "" : call.error().getMessage());
  }
  return messages;
}

/// The same message on every target.
std::vector<std::string> onEveryTarget(const std::string &message) { return {3, message}; }

// call-C7 of docs/spec.md.
TEST(Embed, RotationCapturesNeedAnEntryPerHeadOrPair) {
  auto ones = [](Shape shape) {
    Tensor tensor = Tensor::zeros(DType::F32, std::move(shape));
    std::fill_n(tensor.data<float>(), tensor.numel(), 1.0f);
    return tensor;
  };
  auto ofHeads = [&](int64_t heads) {
    return messagesOfRotation("%base: tensor<3xf32> {pe.name = \"base\"}",
                              "pe.rotation_fn(%base : tensor<3xf32>) expr \"base[h] ^ (-p / n)\"",
                              {{"base", ones({3})}}, {.heads = heads, .queries = 5});
  };
  EXPECT_EQ(ofHeads(3), onEveryTarget(""));
  EXPECT_EQ(ofHeads(4), onEveryTarget("heads, as many as entries of tensor 'base': expected at "
                                      "most 3, found 4"));
  EXPECT_EQ(ofHeads(2), onEveryTarget("heads, as many as entries of tensor 'base': expected at "
                                      "least 3, found 2"));
  auto ofPairs = [&](int64_t entries) {
    return messagesOfRotation("%freq: tensor<?xf32> {pe.name = \"freq\", pe.axes = [\"pairs\"]}",
                              "pe.rotation_fn(%freq : tensor<?xf32>) expr \"freq[p]\"",
                              {{"freq", ones({entries})}}, {.heads = 2, .queries = 5});
  };
  EXPECT_EQ(ofPairs(4), onEveryTarget(""));
  EXPECT_EQ(ofPairs(3),
            onEveryTarget("entries of tensor 'freq', as many as pairs of dims: expected "
                          "at least 4, found 3"));
  EXPECT_EQ(ofPairs(5),
            onEveryTarget("pairs of dims, as many as entries of tensor 'freq': expected "
                          "at least 5, found 4"));
  EXPECT_EQ(messagesOfRotation(
                "%freq: tensor<?xf32> {pe.name = \"freq\", pe.axes = [\"pairs\"]}",
                "pe.rotation_fn(%freq : tensor<?xf32>) attributes {rotary_dims = 4 : i64} expr "
                "\"freq[p]\"",
                {{"freq", ones({3})}}, {.heads = 2, .queries = 5}),
            onEveryTarget("entries of tensor 'freq', as many as pairs of dims: expected at most 2, "
                          "found 3"));
}

// call-C8 of docs/spec.md.
TEST(Embed, BatchedTablesNeedAnEntryPerBatchEntry) {
  const std::string type = "tensor<2x?x?xf32>";
  auto ofBatch = [&](int64_t batch) {
    const Tensor table = Tensor::zeros(DType::F32, {2, 5, 4});
    return messagesOfRotation(
        "%cos: " + type + " {pe.name = \"cos\"}, %sin: " + type + " {pe.name = \"sin\"}",
        "pe.rotation_table %cos, %sin : " + type + ", " + type, {{"cos", table}, {"sin", table}},
        {.batch = batch, .heads = 2, .queries = 5});
  };
  const std::string what =
      "batch entries of queries, as many as those of tensors 'cos' and 'sin': expected at ";
  EXPECT_EQ(ofBatch(2), onEveryTarget(""));
  EXPECT_EQ(ofBatch(3), onEveryTarget(what + "most 2, found 3"));
  EXPECT_EQ(ofBatch(1), onEveryTarget(what + "least 2, found 1"));
}

// call-C9 of docs/spec.md.
TEST(Embed, OneTensorOfPositionsNeedsAsManyQueriesAsKeys) {
  auto ofKeys = [](int64_t keys) {
    const std::string type = "tensor<2x?x?xi32>";
    return messagesOfRotation("%p: " + type + " {pe.name = \"p\"}",
                              "pe.rotary positions(%p : " + type + ") {sections = [2, 2]}",
                              {{"p", Tensor::zeros(DType::I32, {2, 1, 5})}},
                              {.heads = 2, .queries = 5, .keys = keys});
  };
  const std::string what = " because 'p' holds the positions of both; give two tensors to "
                           "pe.rotary: expected at least ";
  EXPECT_EQ(ofKeys(5), onEveryTarget(""));
  EXPECT_EQ(ofKeys(7), onEveryTarget("queries, as many as keys" + what + "7, found 5"));
  EXPECT_EQ(ofKeys(3), onEveryTarget("keys, as many as queries" + what + "5, found 3"));
}

// The loops lowering accepts every type and its own options. CPU kernels reject unsupported types.
TEST(Embed, LoopsAcceptOptions) {
  Expected<Program> program = Program::load(kExamples + "nope.mlir");
  ASSERT_TRUE(program);
  CompileOptions options{.dtype = DType::BF16, .lowering = "loops"};
  options.loops = {.blockRows = 5, .blockColumns = 3, .owner = LoopOptions::Owner::Columns};
  Expected<Function> loops = program->compile(options);
  ASSERT_TRUE(loops) << loops.error().getMessage();
  auto messageOf = [&](const CompileOptions &refused) -> std::string {
    Expected<Function> function = program->compile(refused);
    return function ? "" : function.error().getMessage();
  };
  options.lowering = "cpu";
  options.dtype = DType::TF32;
  EXPECT_EQ(messageOf(options), "expected dtype f32, bf16 or f16 on target cpu, found tf32");
  options.dtype = DType::F32;
  EXPECT_EQ(messageOf(options), "expected lowering loops with loop options, found cpu");
  EXPECT_EQ(messageOf({.lowering = "vectors"}), "expected lowering cpu or loops, found vectors");
  EXPECT_EQ(messageOf({.target = "gpu-emulator", .lowering = "loops"}),
            "expected target cpu with lowering loops, found gpu-emulator");
  EXPECT_EQ(messageOf({.target = "gpu-emulator", .features = "x86-64-v3"}),
            "expected target cpu with features x86-64-v3, found gpu-emulator");
  EXPECT_EQ(messageOf({.lineTables = true}),
            "expected target cuda or gpu-emulator with line tables, found cpu");
  options.lowering = "loops";
  options.loops.blockRows = 0;
  EXPECT_NE(messageOf(options).find("expected blocks of at least 1 x 1, found 0 x 3"),
            std::string::npos)
      << messageOf(options);
}

int main(int argc, char **argv) {
  // Use an empty cache, so that the first process compiles.
  ::setenv("PE_CACHE_DIR", kCache.c_str(), 1);
  if (std::system(("rm -rf '" + kCache + "'").c_str()) != 0)
    return 1;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
