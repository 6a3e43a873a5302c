//===- CpuInfoTest.cpp - Tests of CpuInfo and Peak ------------------------===//

#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace pe::cpu;

TEST(CpuInfo, LevelsRoundTrip) {
  EXPECT_EQ(levelOf("x86-64-v3"), Level::V3);
  EXPECT_EQ(levelOf("x86-64-v4"), Level::V4);
  EXPECT_EQ(levelOf(""), hostCpu().level);
}

TEST(CpuInfo, LevelAndFeaturesAgree) {
  const auto has = [](const char *name) {
    const auto &features = hostCpu().features;
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  if (hostCpu().level >= Level::V3)
    EXPECT_TRUE(has("avx2") && has("fma"));
  EXPECT_EQ(hostCpu().level == Level::V4, has("avx512f") && has("avx512vl") && has("avx512bw"));
  EXPECT_NE(hostCpu().fingerprint().find(hostCpu().name), std::string::npos);
}

TEST(Peak, IsPlausibleAndNeedsTheLevel) {
  if (hostCpu().level == Level::Unsupported)
    GTEST_SKIP() << "this processor has no AVX2";
  ThreadPool one({.threads = 1});
  const double single = measureFmaPeak(one, hostCpu().level);
  EXPECT_GT(single, 5.0);
  EXPECT_LT(single, 2000.0);
  if (hostCpu().level < Level::V4)
    EXPECT_EQ(measureFmaPeak(one, Level::V4), 0.0);
}
