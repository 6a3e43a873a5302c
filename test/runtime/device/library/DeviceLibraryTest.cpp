//===- DeviceLibraryTest.cpp - The functions that GPU kernels call --------===//
//
// Executes the PTX of the device library (runtime/device/library) on the host.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/library/DeviceLibrary.h"
#include "runtime/device/cpu/Segments.h"
#include "runtime/device/library/FindSegments.h"
#include "runtime/jit/Compilation.h"
#include "runtime/jit/Ptx.h"
#include "runtime/ptx/LoadedModule.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace pe;

namespace {

using pe::segments::Function;
using pe::segments::Link;

/// Compiles the kernels in the LLVM dialect for sm_80 and loads them.
std::unique_ptr<ptx::LoadedModule> load(const std::string &kernels, ptx::Memory &memory) {
  jit::Compilation compilation(jit::getRegistry());
  const Status parsed =
      compilation.parse({"gpu.module @kernels {\n" + kernels + "}\n", "kernels.mlir", ""});
  if (!parsed) {
    ADD_FAILURE() << parsed.error().getMessage();
    return nullptr;
  }
  const auto chip = jit::parseChip("sm_80");
  auto text = jit::emitPtx(compilation.getModule(), *chip);
  if (!text) {
    ADD_FAILURE() << text.error().getMessage();
    return nullptr;
  }
  auto loaded = ptx::LoadedModule::load(*text, "kernels.ptx", memory);
  if (!loaded)
    ADD_FAILURE() << loaded.error().getMessage();
  return loaded ? *std::move(loaded) : nullptr;
}

/// A chain of maps and the memory of a call of pe_gpu_find_segments.
struct Call {
  std::vector<float> u, v, knots, coefficients;
  int32_t count = -1;
  std::vector<std::vector<float>> weights;
  std::vector<uint64_t> words;
  std::vector<double> scratch;

  Call(std::mt19937_64 &random, std::vector<int64_t> widths, int64_t heads, int64_t capacity,
       bool isShared = false, int64_t degree = 1, Function inner = Function::Relu,
       Function last = Function::Identity) {
    std::uniform_real_distribution<float> uniform(0, 1);
    u.resize(200);
    v.resize(37);
    for (auto *values : {&u, &v})
      for (float &x : *values)
        x = uniform(random);
    u[3] = std::numeric_limits<float>::infinity(); // ignored
    knots.assign(capacity + 1, -7);
    coefficients.assign(heads * capacity * (degree + 1), -7);
    widths.push_back(isShared ? 1 : heads);
    PeFindSegments call = {u.data(),     1,
                           200,          190,
                           v.data(),     37,
                           knots.data(), coefficients.data(),
                           &count,       heads,
                           capacity,     degree,
                           1e-5,         static_cast<int64_t>(widths.size())};
    words.resize(sizeof(call) / 8);
    std::memcpy(words.data(), &call, sizeof(call));
    int64_t inputs = 1, widest = 1;
    weights.reserve(2 * widths.size());
    for (int64_t outputs : widths) {
      for (int64_t size : {outputs * inputs, outputs}) {
        std::vector<float> &values = weights.emplace_back(size);
        for (float &x : values)
          x = (2 * uniform(random) - 1) / std::sqrt(static_cast<float>(inputs));
        words.push_back(reinterpret_cast<uint64_t>(values.data()));
      }
      words.push_back(outputs);
      words.push_back(inputs);
      const bool isLast = weights.size() == 2 * widths.size();
      words.push_back(static_cast<uint64_t>(isLast ? last : inner));
      inputs = outputs;
      widest = std::max(widest, outputs);
    }
    scratch.resize(segments::segmentsScratch(kPeGpuSegmentsThreads, degree, widest, capacity + 1));
  }
};

const char *const kFindSegments = R"(
  llvm.func @find(%call: !llvm.ptr, %scratch: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %threads = llvm.mlir.constant(128 : i32) : i32
    llvm.call @pe_gpu_find_segments(%call, %scratch, %threads) : (!llvm.ptr, !llvm.ptr, i32) -> ()
    llvm.return
  }
  llvm.func @pe_gpu_find_segments(!llvm.ptr, !llvm.ptr, i32)
)";

std::string runOnDevice(Call &call, uint64_t seed) {
  static ptx::Memory memory;
  static const std::unique_ptr<ptx::LoadedModule> kernels = load(kFindSegments, memory);
  if (!kernels)
    return "no kernel";
  std::vector<uint64_t> adopted;
  const auto adopt = [&](auto &values) {
    if (values.empty())
      return;
    adopted.push_back(reinterpret_cast<uint64_t>(values.data()));
    memory.adopt(adopted.back(), values.size() * sizeof(values[0]));
  };
  std::span<int32_t> count(&call.count, 1);
  adopt(call.u), adopt(call.v), adopt(call.knots), adopt(call.coefficients), adopt(count);
  adopt(call.words), adopt(call.scratch);
  for (auto &values : call.weights)
    adopt(values);
  ptx::Launch launch;
  launch.block.x = kPeGpuSegmentsThreads;
  launch.setParameter(0, call.words.data());
  launch.setParameter(1, call.scratch.data());
  launch.schedule = ptx::Schedule::fromSeed(seed);
  const Status status = kernels->run("find", launch);
  for (uint64_t address : adopted)
    memory.release(address);
  return status ? "" : status.error().getMessage();
}

/// Checks that the tables of a CTA equal the tables of the host, bitwise except if sums are
/// contracted.
void expectSame(Call call) {
  Call onHost = call, onDevice = call;
  auto rebind = [](Call &copy) {
    auto *block = reinterpret_cast<PeFindSegments *>(copy.words.data());
    block->u = copy.u.data();
    block->v = copy.v.data();
    block->knots = copy.knots.data();
    block->coefficients = copy.coefficients.data();
    block->count = &copy.count;
    auto *links = reinterpret_cast<Link *>(block + 1);
    for (int64_t i = 0; i < block->linkCount; ++i) {
      links[i].weight = copy.weights[2 * i].data();
      links[i].bias = copy.weights[2 * i + 1].data();
    }
  };
  rebind(onHost);
  pe_find_segments(reinterpret_cast<const PeFindSegments *>(onHost.words.data()));
  for (uint64_t seed : {1, 2, 3}) {
    onDevice = call;
    rebind(onDevice);
    ASSERT_EQ(runOnDevice(onDevice, seed), "");
    ASSERT_EQ(onDevice.count, onHost.count);
    for (auto [device, host] : {std::pair(&onDevice.knots, &onHost.knots),
                                {&onDevice.coefficients, &onHost.coefficients}})
      for (size_t i = 0; i < host->size(); ++i) {
        if (std::isnan((*host)[i]))
          EXPECT_TRUE(std::isnan((*device)[i]));
        else
          EXPECT_NEAR((*device)[i], (*host)[i], 1e-6f * (1 + std::abs((*host)[i]))) << i;
      }
  }
}

TEST(DeviceLibraryTest, SegmentsOfNetworksAsDrawn) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10; ++i) {
    expectSame(Call(random, {32}, 12, 64));
    expectSame(Call(random, {32, 32}, 3, 256));
    expectSame(Call(random, {7, 5, 4}, 4, 300, /*isShared=*/true));
    expectSame(Call(random, {}, 4, 8));
  }
}

TEST(DeviceLibraryTest, PiecesOfOtherFunctions) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 4; ++i) {
    expectSame(Call(random, {32}, 4, 128, false, 3, Function::Gelu));
    expectSame(Call(random, {8, 8}, 3, 128, true, 3, Function::Cos));
    expectSame(Call(random, {16}, 5, 128, false, 3, Function::Silu, Function::Relu));
    expectSame(Call(random, {16}, 5, 128, false, 3, Function::Relu, Function::Tanh));
    expectSame(Call(random, {32}, 6, 512, false, 1, Function::Relu, Function::Relu));
    expectSame(Call(random, {32}, 6, 512, false, 0, Function::Step));
    expectSame(Call(random, {32}, 6, 512, false, 0, Function::Relu, Function::Step));
  }
  expectSame(Call(random, {32}, 4, 2, false, 3, Function::Tanh)); // too many
}

TEST(DeviceLibraryTest, SegmentsThatDoNotFitAreNan) {
  std::mt19937_64 random(2);
  expectSame(Call(random, {32, 32}, 3, 2));
  Call wrong(random, {8}, 2, 16);
  reinterpret_cast<Link *>(wrong.words.data() + sizeof(PeFindSegments) / 8)[1].inputs = 9;
  expectSame(wrong);
}

/// Returns a kernel that applies pe_gpu_NAME_TYPE to element `threadIdx.x` of its arguments.
std::string kernelOf(const std::string &name, int operands, const std::string &type) {
  const std::string function = "pe_gpu_" + name + "_" + type;
  std::string parameters, loads, values, types;
  for (int i = 0; i < operands; ++i) {
    const std::string n = std::to_string(i), comma = i ? ", " : "";
    parameters += "%p" + n + ": !llvm.ptr, ";
    loads += "    %a" + n + " = llvm.getelementptr %p" + n +
             "[%t] : (!llvm.ptr, i32) -> !llvm.ptr, " + type + "\n    %x" + n + " = llvm.load %a" +
             n + " : !llvm.ptr -> " + type + "\n";
    values += comma + "%x" + n;
    types += comma + type;
  }
  return "  llvm.func @" + name + "_" + type + "(" + parameters +
         "%out: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {\n"
         "    %t = nvvm.read.ptx.sreg.tid.x : i32\n" +
         loads + "    %y = llvm.call @" + function + "(" + values + ") : (" + types + ") -> " +
         type + "\n    %to = llvm.getelementptr %out[%t] : (!llvm.ptr, i32) -> !llvm.ptr, " + type +
         "\n    llvm.store %y, %to : " + type + ", !llvm.ptr\n    llvm.return\n  }\n  llvm.func @" +
         function + "(" + types + ") -> " + type + "\n";
}

/// Returns ordinary numbers, zeros, infinities and NaN.
template <typename T> std::vector<T> drawNumbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x;
  for (const double number :
       {0.0, -0.0, 1.0, -1.0, 1e-6, 0.5, -0.25, 3.0, -7.5, 20.0, 0.999, 100.0})
    x.push_back(T(number));
  for (const T number : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
    x.push_back(number);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 3);
  while (x.size() < 128)
    x.push_back(T(normal(random)));
  return x;
}

/// The functions of the host by name; unary ones ignore the second number.
template <typename T> std::vector<std::pair<std::string, T (*)(T, T)>> hostFunctions() {
#define PE_UNARY_ENTRY(name) {#name, [](T a, T) { return T(std::name(a)); }},
#define PE_BINARY_ENTRY(name) {#name, [](T a, T b) { return T(std::name(a, b)); }},
  return {PE_GPU_UNARY(PE_UNARY_ENTRY) PE_GPU_BINARY(PE_BINARY_ENTRY)};
}

bool isBinary(const std::string &name) {
#define PE_NAME(name) #name,
  const std::set<std::string> names = {PE_GPU_BINARY(PE_NAME)};
  return names.contains(name);
}

/// Checks a result within `ulp` units in the last place.
template <typename T> void expectNear(T found, T wanted, double ulp) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(wanted))
    EXPECT_TRUE(std::isnan(found)) << found;
  else if (std::isinf(wanted))
    EXPECT_EQ(found, wanted);
  else
    EXPECT_LE(std::abs(double(found) - double(wanted)),
              ulp * std::max<double>(std::abs(wanted) * Limits::epsilon(), Limits::min()))
        << found << " instead of " << wanted;
}

/// Checks every function against the host's within the accuracy that OpenCL requires.
template <typename T> void checkFunctions(const std::string &type) {
  const std::vector<T> x = drawNumbers<T>(), y(x.rbegin(), x.rend());
  std::vector<T> out(x.size());
  std::string text;
  for (const auto &[name, function] : hostFunctions<T>())
    text += kernelOf(name, isBinary(name) ? 2 : 1, type);
  ptx::Memory memory;
  const auto kernels = load(text, memory);
  ASSERT_TRUE(kernels);
  for (const T *values : {x.data(), y.data(), static_cast<const T *>(out.data())})
    memory.adopt(reinterpret_cast<uint64_t>(values), x.size() * sizeof(T));
  for (const auto &[name, function] : hostFunctions<T>()) {
    ptx::Launch launch;
    launch.block.x = uint32_t(x.size());
    launch.setParameter(0, x.data());
    if (isBinary(name))
      launch.setParameter(1, y.data());
    launch.setParameter(launch.parameters.size(), out.data());
    const Status status = kernels->run(name + "_" + type, launch);
    ASSERT_TRUE(status) << status.error().getMessage();
    for (size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE(name + "_" + type + " of " + std::to_string(x[i]) + ", " + std::to_string(y[i]));
      expectNear(out[i], function(x[i], y[i]), name == "pow" || name.starts_with("erf") ? 16 : 4);
    }
  }
}

TEST(DeviceLibraryTest, FunctionsOfF32) { checkFunctions<float>("f32"); }
TEST(DeviceLibraryTest, FunctionsOfF64) { checkFunctions<double>("f64"); }

} // namespace
