//===- CudaTest.cpp - The host side of GPU calls --------------------------===//
//
// A driver that executes PTX on the host and observes the calls. The tests cover everything around
// the kernels: the order of arguments and sizes, memory, clears, copies, launches and errors.
//
//===----------------------------------------------------------------------===//
#include "FakeDriver.h"
#include "pe/pe-c.h"
#include "pe/pe.h"
#include "runtime/api/Compiler.h"
#include "runtime/api/Inputs.h"
#include "runtime/core/File.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/CudaRunner.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>
#include <list>

namespace pe::test {
namespace {

FakeState &fake() {
  static FakeState *state = [] {
    setenv("PE_CUDA_DRIVER", PE_FAKE_CUDA_DRIVER, 1);
    setenv("PE_PTX", "chip=90,chip=90", 1); // two devices
    void *library = dlopen(PE_FAKE_CUDA_DRIVER, RTLD_NOW);
    auto *get =
        reinterpret_cast<FakeState *(*)()>(library ? dlsym(library, "peFakeState") : nullptr);
    return get ? get() : nullptr;
  }();
  return *state;
}

/// An encoding compiled for cuda, and for the emulator.
struct Compiled {
  std::string ptx;
  plan::Plan plan;
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
  request.target = plan::Target::GpuEmulator;
  result.emulated = *compiler.compile(request);
  request.target = plan::Target::Cuda;
  request.chip = "sm_80";
  auto bundle = compiler.compileToBundle(request);
  EXPECT_TRUE(bundle) << bundle.error().getMessage();
  result.ptx = bundle->at("object");
  result.plan = *plan::parsePlan(bundle->at("plan"));
  return result;
}

/// Checks that the launches since the last call match the plan.
void checkLaunches(const Compiled &compiled) {
  EXPECT_FALSE(fake().launches.empty());
  for (const FakeLaunch &launch : fake().launches) {
    const auto stage = std::ranges::find(compiled.plan.stages, launch.kernel, &plan::Stage::symbol);
    ASSERT_NE(stage, compiled.plan.stages.end()) << launch.kernel;
    EXPECT_EQ(static_cast<int>(launch.threads), stage->launch->threads);
    EXPECT_EQ(static_cast<int>(launch.sharedBytes), stage->launch->sharedBytes);
    EXPECT_EQ(launch.reservedBytes, stage->launch->sharedBytes);
  }
  fake().launches.clear();
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
    fake().launches.clear();
    fake().retained.clear(), fake().isCapturing = false;
  }
  cpu::ThreadPool pool{{.threads = 1}};
};

TEST_F(CudaTest, ResultsEqualTheEmulator) {
  for (auto [encoding, dtype] : {std::pair{"fire", DType::F32},
                                 {"rope", DType::BF16},
                                 {"stick_breaking", DType::F16},
                                 {"log_sum_exp", DType::F32}}) {
    Compiled compiled = compile(encoding, dtype, 16);
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
    checkLaunches(compiled);
  }
  EXPECT_TRUE(fake().allocations.empty()) << "leaked memory";
}

TEST_F(CudaTest, AbsentCotangentsAreZeroAndEmptyCallsWork) {
  Compiled compiled = compile("log_sum_exp", DType::F32, 16);
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
    // Cotangents of an earlier backward call are not reused.
    ASSERT_TRUE((*runner)->backward(**call, inputsOf(compiled, sizes, true), pool));
    gradients = (*runner)->backward(**call, cotangents, pool);
    ASSERT_TRUE(gradients) << gradients.error().getMessage();
    expectSame(*gradients, *compiled.emulated->runner->backward(**expected, cotangents, pool));
  }
}

TEST_F(CudaTest, ReportsDriverErrors) {
  Compiled compiled = compile("nope", DType::F32, 16);
  const TensorMap arguments =
      inputsOf(compiled, plan::CallSizes{1, 1, 1, 8, 8}.values(16, 16), false);
  // Kernels are loaded by the first call.
  const auto firstCall = [&](const plan::Plan &plan, const std::string &ptx) {
    return (*cuda::CudaRunner::create(plan, ptx))->forward(arguments, {}, pool);
  };
  auto broken = firstCall(compiled.plan, "no PTX");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().getMessage().find("CUDA_ERROR_INVALID_PTX"), std::string::npos);
  EXPECT_NE(broken.error().getMessage().find("expected '.version'"), std::string::npos);
  plan::Plan other = compiled.plan;
  other.features = "sm_100";
  auto foreign = firstCall(other, compiled.ptx);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().getMessage().find("compiled for sm_100, found Imagined GPU (sm_90)"),
            std::string::npos);
  other = compiled.plan;
  other.stages[0].symbol = "absent";
  EXPECT_FALSE(firstCall(other, compiled.ptx));
  other = compiled.plan;
  other.stages[0].launch->sharedBytes = 1 << 20;
  EXPECT_FALSE(firstCall(other, compiled.ptx));

  auto runner = cuda::CudaRunner::create(compiled.plan, compiled.ptx);
  ASSERT_TRUE(runner);
  for (const char *function :
       {"cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuCtxPushCurrent_v2",
        "cuStreamCreate", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}) {
    fake().failures = {{function, 2}};
    auto call = (*runner)->forward(arguments, {}, pool);
    ASSERT_FALSE(call) << function;
    EXPECT_NE(call.error().getMessage().find("CUDA_ERROR_OUT_OF_MEMORY (out of memory)"),
              std::string::npos)
        << call.error().getMessage();
  }
  fake().failures.clear();
  EXPECT_TRUE((*runner)->forward(arguments, {}, pool)) << "a call after a failure works";
}

TEST_F(CudaTest, TimesComeFromEvents) {
  Compiled compiled = compile("nope", DType::F32, 16);
  auto runner = cuda::CudaRunner::create(compiled.plan, compiled.ptx);
  ASSERT_TRUE(runner);
  const plan::SizeValues sizes = plan::CallSizes{1, 1, 1, 8, 8}.values(16, 16);
  auto times =
      (*runner)->time(inputsOf(compiled, sizes, false), {}, inputsOf(compiled, sizes, true), pool);
  ASSERT_TRUE(times) << times.error().getMessage();
  EXPECT_NEAR(times->forward, 1.5e-3, 1e-6);
  EXPECT_NEAR(times->backward, 1.5e-3, 1e-6);
}

/// Calls of the C interface on tensors in device memory.
class CudaCallsTest : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    device = *cuda::Device::open();
    const cuda::Device::Current current(*device);
    device->driver.streamCreate(&stream, 0);
  }
  void TearDown() override {
    if (stream)
      device->driver.streamDestroy(stream);
    pe_close(function);
  }
  void open(const std::string &encoding, DType dtype, const char *chip = "sm_80", int number = 0) {
    compiled = compile(encoding, dtype, 16);
    const std::string file =
        std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + encoding + ".mlir";
    pe_options options = {};
    options.size = sizeof(options);
    options.target = "cuda";
    options.chip = chip;
    options.device = number;
    options.head_dim = options.value_dim = 16;
    options.dtype = static_cast<pe_dtype>(dtype);
    options.grad = 1;
    ASSERT_EQ(pe_open(file.c_str(), &options, &function), 0) << pe_last_error();
  }
  /// Returns a view of newly allocated device memory.
  View add(const std::string &name, const std::vector<View> &arguments) {
    View view = {};
    view.name = names.emplace_back(name).c_str();
    EXPECT_EQ(pe_shape(function, arguments.data(), int32_t(arguments.size()), &view), 0)
        << pe_last_error();
    const Tensor shaped = Tensor::borrow(&view, static_cast<DType>(view.dtype),
                                         Shape(view.shape, view.shape + view.rank));
    view.data = allocate(shaped.byteSize());
    return view;
  }
  void *allocate(size_t bytes) {
    memory.push_back(*cuda::DeviceMemory::allocate(device, bytes));
    return reinterpret_cast<void *>(memory.back().pointer());
  }
  std::vector<View> upload(const TensorMap &tensors) {
    std::vector<View> views;
    for (const auto &[name, tensor] : tensors) {
      View view = viewOf(names.emplace_back(name).c_str(), tensor);
      view.data = allocate(tensor.byteSize());
      std::memcpy(view.data, tensor.rawData(), tensor.byteSize());
      views.push_back(view);
    }
    return views;
  }
  int run(int32_t half, const std::vector<View> &views, const std::vector<Scalar> &scalars = {},
          int number = 0) {
    pe_context context = {};
    context.size = sizeof(context);
    const auto count = static_cast<int32_t>(views.size());
    if (pe_workspace(function, half, views.data(), count, &context.workspace_bytes))
      return 1;
    context.workspace = allocate(static_cast<size_t>(context.workspace_bytes));
    context.stream = stream;
    context.device = number;
    fake().calls.clear();
    return pe_run(function, half, views.data(), count, scalars.data(), int32_t(scalars.size()),
                  &context);
  }

  std::vector<View> smallCall();

  Compiled compiled;
  pe_function *function = nullptr;
  std::shared_ptr<const cuda::Device> device;
  cuda::Stream stream = nullptr;
  std::list<std::string> names;
  std::vector<cuda::DeviceMemory> memory;
};

TEST_F(CudaCallsTest, OnlyLaunchKernels) {
  open("fire", DType::BF16);
  const plan::SizeValues sizes = plan::CallSizes{1, 2, 1, 40, 64}.values(16, 16);
  const TensorMap arguments = inputsOf(compiled, sizes, false);
  const TensorMap cotangents = inputsOf(compiled, sizes, true);
  Positions positions;
  positions.keyStart = 5;
  auto call = compiled.emulated->runner->forward(arguments, positions, pool);
  TensorMap expected = *compiled.emulated->runner->backward(**call, cotangents, pool);
  expected["o"] = (*call)->results().at("o");

  const std::vector<View> given = upload(arguments);
  std::vector<View> views = given;
  for (const char *name : {"o", "attention_lse", "attention_output_rest"})
    views.push_back(add(name, given));
  for (int call = 0; call < 2; ++call) // the first one loads the kernels
    ASSERT_EQ(run(PE_FORWARD, views, {{"k_start", 5}}), 0) << pe_last_error();
  for (const auto &[name, count] : fake().calls)
    EXPECT_TRUE(name == "cuLaunchKernel" || name == "cuMemsetD8Async" || name.starts_with("cuCtx"))
        << name;
  EXPECT_LE(fake().calls["cuMemsetD8Async"], 1) << "zeroed buffers are contiguous";
  const View cotangent = upload(cotangents)[0];
  views.push_back(cotangent);
  for (const auto &[name, tensor] : expected)
    if (name != "o")
      views.push_back(add(name, given));
  ASSERT_EQ(run(PE_BACKWARD, views, {{"k_start", 5}}), 0) << pe_last_error();
  device->driver.streamSynchronize(stream);
  for (const View &view : views)
    if (auto found = expected.find(view.name); found != expected.end())
      EXPECT_EQ(std::memcmp(view.data, found->second.rawData(), found->second.byteSize()), 0)
          << view.name;
}

/// Passes q, k and v as parts of [B, S, 3, H, D], and d_q interleaved with other data. They are
/// used in place, or packed by the driver if rows are not aligned to 16 bytes.
TEST_F(CudaCallsTest, ViewsGiveTheSameBits) {
  open("nope", DType::F32);
  constexpr int64_t b = 2, s = 12, h = 3, d = 16, row = 3 * h * d;
  Tensor packed = Tensor::zeros(DType::F32, {b, s, 3, h, d});
  for (int64_t i = 0; i < packed.numel(); ++i)
    packed.data<float>()[i] = float(i * 37 % 101) / 50 - 1;
  TensorMap arguments;
  for (int64_t part = 0; part < 3; ++part)
    arguments[std::string(1, "qkv"[part])] = packed.select(2, part).transpose(1, 2);
  const TensorMap cotangents = {{"d_o", Tensor::zeros(DType::F32, {b, h, s, d})}};
  std::copy_n(packed.data<float>(), b * h * s * d,
              const_cast<float *>(cotangents.at("d_o").data<float>()));
  auto call = compiled.emulated->runner->forward(arguments, {}, pool);
  ASSERT_TRUE(call) << call.error().getMessage();
  TensorMap expected = *compiled.emulated->runner->backward(**call, cotangents, pool);

  for (int64_t offset : {0, 1}) {
    SCOPED_TRACE(offset);
    auto *there = static_cast<float *>(allocate(packed.byteSize() + sizeof(float))) + offset;
    std::memcpy(there, packed.rawData(), packed.byteSize());
    std::vector<View> views;
    for (const auto &[name, tensor] : arguments) {
      View view = viewOf(names.emplace_back(name).c_str(), tensor);
      view.data = there + (tensor.data<float>() - packed.data<float>());
      views.push_back(view);
    }
    const std::vector<View> given = views;
    for (const char *name : {"o", "attention_lse"})
      views.push_back(add(name, given));
    ASSERT_EQ(run(PE_FORWARD, views), 0) << pe_last_error();
    EXPECT_EQ(fake().calls["cuMemcpy2DAsync_v2"], offset ? 3 * b * h : 0);
    views.push_back(upload(cotangents)[0]);
    View gradient = given[0];
    gradient.name = "d_q";
    auto *around = static_cast<float *>(allocate(packed.byteSize() + sizeof(float))) + offset;
    std::fill_n(around, packed.numel(), 7.0f);
    gradient.data = around;
    views.push_back(gradient);
    ASSERT_EQ(run(PE_BACKWARD, views), 0) << pe_last_error();
    EXPECT_EQ(fake().calls["cuMemcpy2DAsync_v2"], offset ? 4 * b * h : 0);
    device->driver.streamSynchronize(stream);
    const Tensor found =
        Tensor::borrow(around, DType::F32, {b, h, s, d}, {s * row, d, row, 1}).clone();
    EXPECT_EQ(std::memcmp(found.rawData(), expected.at("d_q").rawData(), found.byteSize()), 0);
    EXPECT_EQ(around[h * d], 7.0f) << "the memory of d_k is unchanged";

    // A d_o with strides 0 that repeats one element.
    View &all = views[views.size() - 2];
    std::fill_n(all.strides, 4, 0);
    EXPECT_EQ(run(PE_BACKWARD, views), 0) << "a few copies are made";
  }
}

std::vector<View> CudaCallsTest::smallCall() {
  const TensorMap arguments =
      inputsOf(compiled, plan::CallSizes{1, 1, 1, 8, 8}.values(16, 16), false);
  std::vector<View> views = upload(arguments);
  views.push_back(add("o", views));
  return views;
}

TEST_F(CudaCallsTest, OnlyTheDeviceOfTheCallHasAContext) {
  device.reset();
  stream = nullptr;
  fake().retained.clear();
  open("nope", DType::F32, /*chip=*/nullptr, /*number=*/1);
  EXPECT_EQ(fake().retained, std::vector<int>()) << "opening needs no context";
  device = *cuda::Device::open(1);
  ASSERT_EQ(run(PE_FORWARD, smallCall(), {}, 1), 0) << pe_last_error();
  EXPECT_FALSE(fake().retained.empty());
  for (int retained : fake().retained)
    EXPECT_EQ(retained, 1);
}

TEST_F(CudaCallsTest, TheFirstCallInACaptureIsRefused) {
  open("alibi", DType::F32);
  const std::vector<View> views = smallCall();
  fake().isCapturing = true;
  EXPECT_EQ(run(PE_FORWARD, views), 1);
  EXPECT_NE(std::string(pe_last_error()).find("call the function once before the capture"),
            std::string::npos)
      << pe_last_error();
  EXPECT_EQ(fake().calls["cuModuleLoadDataEx"], 0);
  EXPECT_TRUE(fake().launches.empty());
  fake().isCapturing = false;
  EXPECT_EQ(run(PE_FORWARD, views), 0) << pe_last_error();
  fake().isCapturing = true;
  EXPECT_EQ(run(PE_FORWARD, views), 0) << "the kernels are loaded: " << pe_last_error();
}

TEST_F(CudaCallsTest, ModulesOutliveFunctions) {
  open("t5", DType::F32);
  ASSERT_EQ(run(PE_PREPARE | PE_FORWARD, smallCall()), 0) << pe_last_error();
  pe_close(function); // the kernels in flight stay loaded
  EXPECT_EQ(device->driver.streamSynchronize(stream), 0);
  // The contexts stay.
  EXPECT_EQ(fake().calls["cuDevicePrimaryCtxRelease_v2"], 0);
  open("t5", DType::F32);
  ASSERT_EQ(run(PE_PREPARE | PE_FORWARD, smallCall()), 0) << pe_last_error();
  EXPECT_EQ(fake().calls["cuModuleLoadDataEx"], 0) << "the same PTX is loaded once";
}

TEST_F(CudaCallsTest, ErrorsPrecedeTheLaunch) {
  open("nope", DType::F32);
  const auto started = [] {
    return fake().calls["cuLaunchKernel"] + fake().calls["cuMemsetD8Async"];
  };
  const auto expectRefused = [&](int outcome, const std::string &part) {
    EXPECT_EQ(outcome, 1);
    EXPECT_NE(std::string(pe_last_error()).find(part), std::string::npos) << pe_last_error();
    EXPECT_EQ(started(), 0);
  };
  const auto viewsOf = [&](int64_t h, int64_t s) {
    std::vector<View> views;
    static char nothing[256];
    for (const char *name : {"q", "k", "v", "o"})
      views.push_back({name,
                       nothing + 64 * (name[0] % 4),
                       PE_F32,
                       4,
                       {1, h, s, 16},
                       {h * s * 16, s * 16, 16, 1}});
    return views;
  };
  fake().calls.clear();
  std::vector<View> views = viewsOf(1, 40000000);
  pe_context context = {};
  context.size = sizeof(context);
  for (View &view : views) // without overlap
    view.data = reinterpret_cast<void *>((int64_t(view.name[0]) << 40));
  ASSERT_EQ(pe_workspace(function, PE_FORWARD, views.data(), 4, &context.workspace_bytes), 0);
  context.workspace = reinterpret_cast<void *>(64);
  expectRefused(
      pe_run(function, PE_FORWARD, views.data(), 4, nullptr, 0, &context),
      "expected at most 33554431 positions with this head dimension on GPUs, found 40000000");
  views = viewsOf(2, 64);
  views[0].strides[3] = 3;
  views[0].strides[2] = 64;
  views[0].shape[1] = 2;
  fake().calls.clear();
  views = viewsOf(100, 64);
  for (View &view : views)
    view.data = reinterpret_cast<void *>((int64_t(view.name[0]) << 40));
  std::fill_n(views[0].strides, 4, 0);
  ASSERT_EQ(pe_workspace(function, PE_FORWARD, views.data(), 4, &context.workspace_bytes), 0);
  expectRefused(pe_run(function, PE_FORWARD, views.data(), 4, nullptr, 0, &context),
                "tensor 'q': its strides [0, 0, 0, 0] need");
  context.device = 0;
  const pe_scalar far = {"q_start", int64_t(1) << 33};
  expectRefused(pe_run(function, PE_FORWARD, views.data(), 4, &far, 1, &context),
                "q_start: expected positions");
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
