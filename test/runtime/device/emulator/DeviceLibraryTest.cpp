//===- DeviceLibraryTest.cpp - The device library in emulated threads -----===//
#include "runtime/device/library/DeviceLibrary.h"
#include "runtime/device/cpu/Segments.h"
#include "runtime/device/emulator/Emulator.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace pe::emulator;
using pe::Status;

namespace {

using pe::segments::Function;
using pe::segments::Link;

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
    scratch.resize(peGpuSegmentsScratch(capacity, widest) +
                   pe::segments::refineScratch(kPeGpuSegmentsThreads, widest, widest, capacity));
  }
};

Call *currentCall;
void body(void *const *, const int64_t *) {
  pe_gpu_find_segments(reinterpret_cast<const PeGpuFindSegments *>(currentCall->words.data()),
                       currentCall->scratch.data(), kPeGpuSegmentsThreads);
}

std::string runOnDevice(Call &call, Order order) {
  currentCall = &call;
  using Launch = void(void (*)(void *const *, const int64_t *), void *const *, const int64_t *,
                      int64_t, int32_t, int64_t);
  setOptions({order, 3});
  beginStage({});
  reinterpret_cast<Launch *>(findSymbol("pe_emu_launch"))(body, nullptr, nullptr, 0,
                                                          kPeGpuSegmentsThreads, 0);
  Status status = endStage();
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
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    onDevice = call;
    rebind(onDevice);
    ASSERT_EQ(runOnDevice(onDevice, order), "");
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

} // namespace

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

TEST(DeviceLibraryTest, FunctionsOfNumbers) {
  auto *sine = reinterpret_cast<double (*)(double)>(findSymbol("pe_gpu_sin_f64"));
  auto *power = reinterpret_cast<float (*)(float, float)>(findSymbol("pe_gpu_pow_f32"));
  ASSERT_TRUE(sine && power);
  EXPECT_EQ(sine(0.5), std::sin(0.5));
  EXPECT_EQ(power(2, 10), 1024.0f);
  EXPECT_EQ(findSymbol("pe_gpu_sine_f64"), nullptr);
}
