//===- DeviceLibraryTest.cpp - the device library in emulated threads -----===//
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

/// A network and the memory of a call that finds its segments.
struct Call {
  std::vector<float> u, v, knots, slope, offset;
  int32_t count = -1;
  std::vector<std::vector<float>> weights;
  std::vector<uint64_t> words;
  std::vector<double> scratch;

  Call(std::mt19937_64 &random, std::vector<int64_t> widths, int64_t heads, int64_t capacity,
       bool isShared = false) {
    std::uniform_real_distribution<float> uniform(0, 1);
    u.resize(200);
    v.resize(37);
    for (auto *values : {&u, &v})
      for (float &x : *values)
        x = uniform(random);
    u[3] = std::numeric_limits<float>::infinity(); // does not count
    knots.assign(capacity, -7);
    slope.assign(heads * capacity, -7);
    offset.assign(heads * capacity, -7);
    widths.push_back(isShared ? 1 : heads);
    PeFindSegments call = {u.data(),
                           1,
                           200,
                           190,
                           v.data(),
                           37,
                           knots.data(),
                           slope.data(),
                           offset.data(),
                           &count,
                           heads,
                           capacity,
                           static_cast<int64_t>(widths.size())};
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
      inputs = outputs;
      widest = std::max(widest, outputs);
    }
    scratch.resize(peGpuSegmentsScratch(capacity, widest));
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

/// The tables of a CTA equal those of the host's algorithm, to the last bit except where sums
/// contract.
void expectSame(Call call) {
  Call onHost = call, onDevice = call;
  auto rebind = [](Call &copy) {
    auto *block = reinterpret_cast<PeFindSegments *>(copy.words.data());
    block->u = copy.u.data();
    block->v = copy.v.data();
    block->knots = copy.knots.data();
    block->slope = copy.slope.data();
    block->offset = copy.offset.data();
    block->count = &copy.count;
    auto *layers = reinterpret_cast<PeSegmentsLayer *>(block + 1);
    for (int64_t i = 0; i < block->layerCount; ++i) {
      layers[i].weight = copy.weights[2 * i].data();
      layers[i].bias = copy.weights[2 * i + 1].data();
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
                                {&onDevice.slope, &onHost.slope},
                                {&onDevice.offset, &onHost.offset}})
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

TEST(DeviceLibraryTest, SegmentsThatDoNotFitAreNan) {
  std::mt19937_64 random(2);
  expectSame(Call(random, {32, 32}, 3, 2));
  Call wrong(random, {8}, 2, 16);
  reinterpret_cast<PeSegmentsLayer *>(wrong.words.data() + sizeof(PeFindSegments) / 8)[1].inputs =
      9;
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
