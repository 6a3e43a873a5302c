//===- CudaTest.cpp - The host side of GPU calls --------------------------===//
//
// A driver of our own runs the kernels on the emulator, so what is tested here is everything around
// them: arguments and sizes in order, memory, clearing, copies, launches, errors.
//
//===----------------------------------------------------------------------===//
#include "FakeDriver.h"
#include "pe/pe-c.h"
#include "pe/pe.h"
#include "runtime/api/Compiler.h"
#include "runtime/api/Inputs.h"
#include "runtime/core/File.h"
#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/CudaRunner.h"
#include "runtime/device/emulator/Emulator.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>

namespace pe::test {
namespace {

FakeState &fake() {
  static FakeState *state = [] {
    setenv("PE_CUDA_DRIVER", PE_FAKE_CUDA_DRIVER, 1);
    void *library = dlopen(PE_FAKE_CUDA_DRIVER, RTLD_NOW);
    auto *get =
        reinterpret_cast<FakeState *(*)()>(library ? dlsym(library, "peFakeState") : nullptr);
    return get ? get() : nullptr;
  }();
  return *state;
}

/// An encoding compiled for cuda, and its kernels as functions of the emulator.
struct Compiled {
  std::string ptx;
  plan::Plan plan;
  std::shared_ptr<cpu::LoadedCode> kernels;
  std::shared_ptr<const api::CompiledFunction> emulated;
  EntryInfo entry;
};

Compiled compile(const std::string &encoding, DType dtype, int64_t depth) {
  const std::string path =
      std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + encoding + ".mlir";
  jit::CompileRequest request;
  request.source = {*readFile(path), path, ""};
  request.headDim = request.valueDim = depth;
  request.dtype = dtype;
  request.grad = true;
  Compiled result;
  auto &compiler = api::Compiler::instance();
  auto described = compiler.describe(request.source);
  if (!described) {
    ADD_FAILURE() << described.error().getMessage();
    return result;
  }
  result.entry = (*described)->entry;
  request.target = "gpu-emulator";
  auto emulated = compiler.compileToBundle(request);
  EXPECT_TRUE(emulated) << emulated.error().getMessage();
  result.kernels = *cpu::loadObject(emulated->at("object"), emulator::findSymbol);
  result.emulated = *compiler.compile(request);
  request.target = "cuda";
  request.chip = "sm_80";
  auto bundle = compiler.compileToBundle(request);
  EXPECT_TRUE(bundle) << bundle.error().getMessage();
  result.ptx = bundle->at("object");
  result.plan = *plan::parsePlan(bundle->at("plan"));
  return result;
}

/// The launcher that runs emulated kernels.
FakeLauncher launcherOf(const Compiled &compiled, std::string &failure) {
  return [&](const std::string &kernel, unsigned grid, unsigned threads, unsigned sharedBytes,
             void **arguments) -> std::function<void()> {
    const auto stage = std::find_if(compiled.plan.stages.begin(), compiled.plan.stages.end(),
                                    [&](const plan::Stage &s) { return s.symbol == kernel; });
    EXPECT_NE(stage, compiled.plan.stages.end()) << kernel;
    EXPECT_EQ(static_cast<int>(threads), stage->launch->threads);
    EXPECT_EQ(static_cast<int>(sharedBytes), stage->launch->sharedBytes);
    EXPECT_EQ(fake().reserved[kernel], stage->launch->sharedBytes);
    std::vector<void *> buffers;
    plan::Frame frame(compiled.plan.frame.size());
    const size_t count = stage->buffers.size();
    for (size_t i = 0; i < count; ++i)
      buffers.push_back(reinterpret_cast<void *>(*static_cast<uint64_t *>(arguments[i])));
    for (size_t i = 0; i < stage->words.size(); ++i)
      frame[stage->words[i]] = *static_cast<int32_t *>(arguments[count + i]);
    auto *function = reinterpret_cast<cpu::StageFunction>(compiled.kernels->lookup(kernel));
    return [=, &failure] {
      std::vector<emulator::Region> regions;
      for (const auto &[address, bytes] : fake().allocations)
        regions.push_back({address, bytes});
      emulator::beginStage(regions);
      for (unsigned item = 0; item < grid; ++item)
        function(buffers.data(), frame.data(), item);
      if (Status s = emulator::endStage(); !s && failure.empty())
        failure = kernel + ": " + s.error().getMessage();
    };
  };
}

TensorMap inputsOf(const Compiled &compiled, const plan::SizeValues &sizes, bool cotangents) {
  auto drawn = cotangents ? api::randomCotangents(compiled.entry, 3, sizes)
                          : api::randomArguments(compiled.entry, 3, sizes);
  return *api::asPlanned(*drawn, compiled.plan);
}

void expectSame(const TensorMap &a, const TensorMap &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    ASSERT_EQ(tensor.byteSize(), b.at(name).byteSize()) << name;
    EXPECT_EQ(std::memcmp(tensor.rawData(), b.at(name).rawData(), tensor.byteSize()), 0) << name;
  }
}

class CudaTest : public testing::Test {
protected:
  void SetUp() override {
    fake().failures.clear();
    fake().calls.clear();
  }
  void TearDown() override {
    fake().launcher = nullptr;
    EXPECT_EQ(failure, "");
  }
  std::string failure;
  cpu::ThreadPool pool{{.threads = 1}};
};

TEST_F(CudaTest, CallsAreThoseOfTheEmulator) {
  for (auto [encoding, dtype] : {std::pair{"fire", DType::F32},
                                 {"rope", DType::BF16},
                                 {"stick_breaking", DType::F16},
                                 {"log_sum_exp", DType::F32}}) {
    Compiled compiled = compile(encoding, dtype, 16);
    fake().launcher = launcherOf(compiled, failure);
    auto runner = cuda::CudaRunner::create(compiled.plan, compiled.ptx);
    ASSERT_TRUE(runner) << runner.error().getMessage();
    const plan::SizeValues sizes = plan::CallSizes{2, 4, 2, 70, 81}.values(16, 16);
    TensorMap arguments = inputsOf(compiled, sizes, false);
    TensorMap cotangents = inputsOf(compiled, sizes, true);
    Positions positions;
    positions.keyStart = 3;
    auto call = (*runner)->forward(arguments, positions, pool);
    ASSERT_TRUE(call) << call.error().getMessage();
    auto expected = compiled.emulated->runner->forward(arguments, positions, pool);
    ASSERT_TRUE(expected);
    expectSame((*call)->results(), (*expected)->results());
    auto wanted = compiled.emulated->runner->backward(**expected, cotangents, pool);
    ASSERT_TRUE(wanted);
    for (int repeat = 0; repeat < 2; ++repeat) { // on the same forward call
      auto gradients = (*runner)->backward(**call, cotangents, pool);
      ASSERT_TRUE(gradients) << gradients.error().getMessage();
      expectSame(*gradients, *wanted);
    }
  }
  EXPECT_TRUE(fake().allocations.empty()) << "memory that nobody frees";
}

TEST_F(CudaTest, AbsentCotangentsAreZeroAndEmptyCallsWork) {
  Compiled compiled = compile("log_sum_exp", DType::F32, 16);
  fake().launcher = launcherOf(compiled, failure);
  auto runner = cuda::CudaRunner::create(compiled.plan, compiled.ptx);
  ASSERT_TRUE(runner);
  for (int64_t keys : {33, 0}) {
    const plan::SizeValues sizes = plan::CallSizes{1, 2, 2, 20, keys}.values(16, 16);
    TensorMap arguments = inputsOf(compiled, sizes, false);
    TensorMap cotangents = inputsOf(compiled, sizes, true);
    cotangents.erase("d_o");
    auto call = (*runner)->forward(arguments, {}, pool);
    ASSERT_TRUE(call) << call.error().getMessage();
    auto gradients = (*runner)->backward(**call, cotangents, pool);
    ASSERT_TRUE(gradients) << gradients.error().getMessage();
    auto expected = compiled.emulated->runner->forward(arguments, {}, pool);
    expectSame((*call)->results(), (*expected)->results());
    expectSame(*gradients, *compiled.emulated->runner->backward(**expected, cotangents, pool));
    EXPECT_FALSE((*runner)->backward(**call, {}, pool));
    // What an earlier backward call was given is forgotten.
    ASSERT_TRUE((*runner)->backward(**call, inputsOf(compiled, sizes, true), pool));
    gradients = (*runner)->backward(**call, cotangents, pool);
    ASSERT_TRUE(gradients) << gradients.error().getMessage();
    expectSame(*gradients, *compiled.emulated->runner->backward(**expected, cotangents, pool));
  }
}

TEST_F(CudaTest, ASessionOnlyLaunches) {
  Compiled compiled = compile("fire", DType::BF16, 16);
  fake().launcher = launcherOf(compiled, failure);
  auto runner = cuda::CudaRunner::create(compiled.plan, compiled.ptx);
  ASSERT_TRUE(runner);
  const plan::SizeValues values = plan::CallSizes{1, 2, 1, 64, 64}.values(16, 16);
  TensorMap arguments = inputsOf(compiled, values, false);
  auto sizes = (*runner)->bind(arguments, {});
  ASSERT_TRUE(sizes);
  auto session = (*runner)->createSession(*sizes, /*grad=*/true);
  ASSERT_TRUE(session) << session.error().getMessage();
  EXPECT_FALSE((*session)->launch(device::Half::Forward, nullptr)) << "no argument was bound";
  EXPECT_FALSE((*session)->bind("nothing", 16));
  EXPECT_FALSE((*session)->bind("q", 17));
  std::vector<cuda::DeviceMemory> memory;
  auto device = cuda::Device::open();
  for (const auto &[name, tensor] : arguments) {
    memory.push_back(*cuda::DeviceMemory::allocate(*device, tensor.byteSize()));
    std::memcpy(reinterpret_cast<void *>(memory.back().pointer()), tensor.rawData(),
                tensor.byteSize());
    ASSERT_TRUE((*session)->bind(name, memory.back().pointer()));
  }
  cuda::Stream stream = nullptr;
  const cuda::Driver &driver = (*device)->driver;
  driver.streamCreate(&stream, 0);
  fake().calls.clear();
  ASSERT_TRUE((*session)->launch(device::Half::Forward, stream));
  ASSERT_TRUE((*session)->launch(device::Half::Backward, stream));
  for (const auto &[function, count] : fake().calls)
    EXPECT_TRUE(function == "cuLaunchKernel" || function == "cuMemsetD8Async" ||
                function.starts_with("cuCtx"))
        << function;
  EXPECT_GT(fake().calls["cuLaunchKernel"], 3);
  driver.streamSynchronize(stream);
  // No cotangent was bound, so all gradients are zero; nobody may write to what launches clear.
  EXPECT_EQ(*(*session)->find("d_o"), 0u);
  for (const char *gradient : {"d_q", "d_v", "d_w1"}) {
    auto *values = reinterpret_cast<const uint32_t *>(*(*session)->find(gradient));
    EXPECT_EQ(values[0] & 0x7FFF7FFF, 0u) << gradient;
  }
  driver.streamDestroy(stream);
}

TEST_F(CudaTest, FailuresAreErrorsThatSayWhat) {
  Compiled compiled = compile("nope", DType::F32, 16);
  fake().launcher = launcherOf(compiled, failure);
  auto broken = cuda::CudaRunner::create(compiled.plan, "no PTX");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().getMessage().find("CUDA_ERROR_INVALID_PTX"), std::string::npos);
  EXPECT_NE(broken.error().getMessage().find("expected .version"), std::string::npos);
  plan::Plan other = compiled.plan;
  other.features = "sm_100";
  auto foreign = cuda::CudaRunner::create(other, compiled.ptx);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().getMessage().find("compiled for sm_100, found Imagined GPU (sm_90)"),
            std::string::npos);
  other = compiled.plan;
  other.stages[0].symbol = "absent";
  EXPECT_FALSE(cuda::CudaRunner::create(other, compiled.ptx));
  other = compiled.plan;
  other.stages[0].launch->sharedBytes = 1 << 20;
  EXPECT_FALSE(cuda::CudaRunner::create(other, compiled.ptx));

  auto runner = cuda::CudaRunner::create(compiled.plan, compiled.ptx);
  ASSERT_TRUE(runner);
  TensorMap arguments = inputsOf(compiled, plan::CallSizes{1, 1, 1, 8, 8}.values(16, 16), false);
  for (const char *function : {"cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel",
                               "cuStreamCreate", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}) {
    fake().failures = {{function, 2}};
    auto call = (*runner)->forward(arguments, {}, pool);
    ASSERT_FALSE(call) << function;
    EXPECT_NE(call.error().getMessage().find("CUDA_ERROR_OUT_OF_MEMORY (out of memory)"),
              std::string::npos)
        << call.error().getMessage();
  }
  fake().failures.clear();
  EXPECT_TRUE((*runner)->forward(arguments, {}, pool)) << "a failure is not for ever";
}

TEST_F(CudaTest, TimesAreThoseBetweenEvents) {
  Compiled compiled = compile("nope", DType::F32, 16);
  fake().launcher = launcherOf(compiled, failure);
  auto runner = cuda::CudaRunner::create(compiled.plan, compiled.ptx);
  ASSERT_TRUE(runner);
  const plan::SizeValues sizes = plan::CallSizes{1, 1, 1, 8, 8}.values(16, 16);
  auto times =
      (*runner)->time(inputsOf(compiled, sizes, false), {}, inputsOf(compiled, sizes, true), pool);
  ASSERT_TRUE(times) << times.error().getMessage();
  EXPECT_NEAR(times->forward, 1.5e-3, 1e-6);
  EXPECT_NEAR(times->backward, 1.5e-3, 1e-6);
}

const std::string kNope = std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/nope.mlir";

/// Through the C interface, with gradients; null where it does not open.
pe_function *openNope(const char *target) {
  pe_options options = {};
  options.target = target;
  options.chip = "sm_80";
  options.head_dim = options.value_dim = 16;
  options.grad = 1;
  pe_function *function = nullptr;
  return pe_open(kNope.c_str(), &options, &function) == 0 ? function : nullptr;
}

/// The C interface on tensors that are on the device.
TEST_F(CudaTest, SessionsInC) {
  Compiled compiled = compile("nope", DType::F32, 16);
  fake().launcher = launcherOf(compiled, failure);
  pe_function *function = openNope("cuda");
  ASSERT_TRUE(function) << pe_last_error();
  pe_session *session = nullptr;
  EXPECT_EQ(pe_session_create(function, 1, 3, 2, 8, 8, 1, &session), 1);
  EXPECT_STREQ(pe_last_error(),
               "pe: error: expected the query heads to be a multiple of the key heads, found 3 "
               "query heads and 2 key heads");
  EXPECT_EQ(pe_session_create(function, 1, 2, 1, 8, int64_t(1) << 40, 1, &session), 1);
  EXPECT_EQ(pe_session_create(function, 1, 2, 1, 8, 40000000, 1, &session), 1);
  EXPECT_STREQ(pe_last_error(), "pe: error: expected at most 33554431 positions of this depth on "
                                "GPUs, found 40000000");
  ASSERT_EQ(pe_session_create(function, 1, 2, 1, 8, 12, 1, &session), 0) << pe_last_error();
  const plan::SizeValues sizes = plan::CallSizes{1, 2, 1, 8, 12}.values(16, 16);
  TensorMap tensors = inputsOf(compiled, sizes, false);
  tensors.merge(inputsOf(compiled, sizes, true));
  auto device = cuda::Device::open();
  cuda::Stream stream = nullptr;
  (*device)->driver.streamCreate(&stream, 0);
  std::vector<cuda::DeviceMemory> memory;
  for (auto &[name, tensor] : tensors) {
    memory.push_back(*cuda::DeviceMemory::allocate(*device, tensor.byteSize()));
    auto *address = reinterpret_cast<void *>(memory.back().pointer());
    std::memcpy(address, tensor.rawData(), tensor.byteSize());
    ASSERT_EQ(pe_session_bind(session, name.c_str(), address), 0) << pe_last_error();
  }
  pe_positions positions = {PE_DEFAULT, 5, PE_DEFAULT, PE_DEFAULT};
  ASSERT_EQ(pe_session_forward(session, &positions, stream), 0) << pe_last_error();
  ASSERT_EQ(pe_session_backward(session, stream), 0) << pe_last_error();
  (*device)->driver.streamSynchronize(stream);
  (*device)->driver.streamDestroy(stream);
  Positions same;
  same.keyStart = 5;
  TensorMap arguments, cotangents;
  for (auto &[name, tensor] : tensors)
    (name.starts_with("d_") ? cotangents : arguments)[name] = tensor;
  auto call = compiled.emulated->runner->forward(arguments, same, pool);
  TensorMap expected = *compiled.emulated->runner->backward(**call, cotangents, pool);
  expected["o"] = (*call)->results().at("o");
  for (const auto &[name, tensor] : expected) {
    void *found = nullptr;
    ASSERT_EQ(pe_session_find(session, name.c_str(), &found), 0);
    EXPECT_EQ(std::memcmp(found, tensor.rawData(), tensor.byteSize()), 0) << name;
  }
  pe_session_free(session);
  pe_close(function);
  function = openNope("cpu");
  ASSERT_TRUE(function) << pe_last_error();
  EXPECT_EQ(pe_session_create(function, 1, 1, 1, 8, 8, 0, &session), 1);
  EXPECT_NE(std::string(pe_last_error()).find("expected a function of target cuda"),
            std::string::npos);
  pe_tensor bad = {"q", nullptr, PE_F32, 4, {1, 1, 8, 16}};
  pe_call *made = nullptr;
  EXPECT_EQ(pe_forward(function, &bad, 1, nullptr, &made), 1);
  EXPECT_STREQ(pe_last_error(), "pe: error: tensor 'q': expected an address, found none");
  pe_close(function);
}

/// What a session refuses is refused before anything was started on the stream.
TEST_F(CudaTest, SessionsCheckBeforeTheyLaunch) {
  fake();
  pe_function *function = openNope("cuda");
  ASSERT_TRUE(function) << pe_last_error();
  pe_session *session = nullptr;
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(pe_session_create(function, most, 2, 1, 8, 12, 1, &session), 1);
  EXPECT_EQ(pe_session_create(function, 1, 2, 1, -8, 12, 1, &session), 1);
  EXPECT_EQ(pe_session_create(function, 1, 2, 1, most, most, 1, &session), 1);
  ASSERT_EQ(pe_session_create(function, 1, 2, 1, 8, 12, 1, &session), 0) << pe_last_error();
  alignas(16) static float elements[2 * 12 * 16];
  const auto started = [] {
    return fake().calls["cuLaunchKernel"] + fake().calls["cuMemsetD8Async"];
  };
  const auto expectRefused = [&](int outcome, const std::string &part) {
    EXPECT_EQ(outcome, 1);
    EXPECT_NE(std::string(pe_last_error()).find(part), std::string::npos) << pe_last_error();
    EXPECT_EQ(started(), 0);
  };
  expectRefused(pe_session_bind(session, "q", nullptr), "tensor 'q': expected an address");
  expectRefused(pe_session_bind(session, "z", elements), "'z'");
  for (const char *name : {"q", "k"})
    ASSERT_EQ(pe_session_bind(session, name, elements), 0) << pe_last_error();
  expectRefused(pe_session_forward(session, nullptr, nullptr), "tensor 'v': expected an address");
  ASSERT_EQ(pe_session_bind(session, "v", elements), 0) << pe_last_error();
  expectRefused(pe_session_backward(session, nullptr), "before its backward call");
  for (pe_positions positions : {pe_positions{int64_t(1) << 33, 0, 0, 2},
                                 {0, int64_t(1) << 62, 0, 2},
                                 {PE_DEFAULT, PE_DEFAULT + 1, 0, 2},
                                 {(int64_t(1) << 30) - 7, 0, 0, 2}})
    expectRefused(pe_session_forward(session, &positions, nullptr), "_start: expected positions");
  for (pe_positions positions : {pe_positions{PE_DEFAULT, 0, -5, 2},
                                 {PE_DEFAULT, 0, 7, 2},
                                 {PE_DEFAULT, 0, 1, PE_DEFAULT},
                                 {PE_DEFAULT, 0, 0, 0},
                                 {PE_DEFAULT, 0, most, most}})
    expectRefused(pe_session_forward(session, &positions, nullptr), "head_start");
  pe_session_free(session);
  expectRefused(pe_session_forward(session, nullptr, nullptr), "expected an open pe_session");
  pe_close(function);
}

TEST(CInterface, NoAddressIsAnError) {
  pe_function *function = nullptr;
  auto expectMissing = [](int outcome, const std::string &argument) {
    EXPECT_EQ(outcome, 1);
    EXPECT_EQ(pe_last_error(),
              "pe: error: argument '" + argument + "': expected an address, found none");
  };
  expectMissing(pe_open(nullptr, nullptr, &function), "file");
  expectMissing(pe_open("x", nullptr, nullptr), "function");
  pe_call *call = nullptr;
  expectMissing(pe_forward(nullptr, nullptr, 0, nullptr, &call), "function");
  expectMissing(pe_backward(nullptr, nullptr, nullptr, 0), "function");
  pe_tensor tensor;
  expectMissing(pe_result(nullptr, "o", &tensor), "call");
  pe_session *session = nullptr;
  expectMissing(pe_session_create(nullptr, 1, 1, 1, 1, 1, 0, &session), "function");
  expectMissing(pe_session_bind(nullptr, "q", nullptr), "session");
  void *address = nullptr;
  expectMissing(pe_session_find(nullptr, "q", &address), "session");
  expectMissing(pe_session_forward(nullptr, nullptr, nullptr), "session");
  expectMissing(pe_session_backward(nullptr, nullptr), "session");
  pe_options options = {};
  options.dtype = static_cast<pe_dtype>(99);
  EXPECT_EQ(pe_open(kNope.c_str(), &options, &function), 1);
  EXPECT_STREQ(pe_last_error(),
               "pe: error: options: expected a dtype of PE_F32, PE_BF16, PE_F16 or "
               "PE_TF32, found 99");
  options = {};
  ASSERT_EQ(pe_open(kNope.c_str(), &options, &function), 0) << pe_last_error();
  EXPECT_EQ(pe_forward(function, nullptr, 3, nullptr, &call), 1);
  EXPECT_STREQ(pe_last_error(),
               "pe: error: expected a list of tensors, found no list and a count of 3");
  pe_close(function);
}

TEST_F(CudaTest, ChipsAreUpwardCompatible) {
  fake();
  auto device = cuda::Device::open();
  ASSERT_TRUE(device) << device.error().getMessage();
  EXPECT_TRUE((*device)->runs("sm_80"));
  EXPECT_TRUE((*device)->runs("sm_90a"));
  EXPECT_FALSE((*device)->runs("sm_100"));
  EXPECT_FALSE((*device)->runs("sm_86a"));
  EXPECT_FALSE((*device)->runs("gfx90"));
  EXPECT_EQ((*device)->compilationChip(), "sm_90");
}

} // namespace
} // namespace pe::test
