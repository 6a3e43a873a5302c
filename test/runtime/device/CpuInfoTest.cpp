//===- CpuInfoTest.cpp - Tests of CpuInfo and Peak ------------------------===//

#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace pe::cpu;

TEST(CpuInfo, MachinesByName) {
  EXPECT_EQ(machineOf("x86-64-v3")->lanes, 8);
  EXPECT_EQ(machineOf("x86-64-v4")->lanes, 16);
  EXPECT_EQ(machineOf("sm_80"), nullptr);
  EXPECT_EQ(machineOf("x86-64-v2"), nullptr);
  EXPECT_EQ(machineOf(""), hostCpu().machine);
}

TEST(CpuInfo, RunsItsLevelAndLower) {
  CpuInfo cpu;
  EXPECT_FALSE(cpu.runs(*machineOf("x86-64-v3")));
  EXPECT_EQ(cpu.level(), "x86-64");
  cpu.machine = machineOf("x86-64-v3");
  EXPECT_TRUE(cpu.runs(*machineOf("x86-64-v3")));
  EXPECT_FALSE(cpu.runs(*machineOf("x86-64-v4")));
  cpu.machine = machineOf("x86-64-v4");
  EXPECT_TRUE(cpu.runs(*machineOf("x86-64-v3")));
  EXPECT_FALSE(cpu.runs(*machineOf("x86-64-v4+avx512bf16")));
  EXPECT_EQ(cpu.level(), "x86-64-v4");
}

TEST(CpuInfo, MachineAndFeaturesAgree) {
  const auto has = [](const char *name) {
    const auto &features = hostCpu().features;
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  if (hostCpu().machine)
    EXPECT_TRUE(has("avx2") && has("fma"));
  EXPECT_EQ(hostCpu().runs(*machineOf("x86-64-v4")),
            has("avx512f") && has("avx512vl") && has("avx512bw"));
  EXPECT_EQ(hostCpu().runs(*machineOf("x86-64-v4+avx512bf16")),
            has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512bf16"));
  EXPECT_NE(hostCpu().fingerprint().find(hostCpu().name), std::string::npos);
}

TEST(Peak, IsPlausibleAndNeedsTheMachine) {
  if (!hostCpu().machine)
    GTEST_SKIP() << "this processor has no AVX2";
  ThreadPool one({.threads = 1});
  const double single = measureProductPeak(one, hostCpu().machine);
  EXPECT_GT(single, 5.0);
  EXPECT_LT(single, 2000.0);
  EXPECT_EQ(measureProductPeak(one, nullptr), 0.0);
  if (!hostCpu().runs(*machineOf("x86-64-v4")))
    EXPECT_EQ(measureProductPeak(one, machineOf("x86-64-v4")), 0.0);
  // Pairs of bf16 are at least as fast as f32, on the only machine that has them.
  const double pairs = measureProductPeak(one, hostCpu().machine, pe::DType::BF16);
  if (hostCpu().runs(*machineOf("x86-64-v4+avx512bf16")))
    EXPECT_GT(pairs, 0.8 * single);
  else
    EXPECT_EQ(pairs, 0.0);
  EXPECT_EQ(measureProductPeak(one, machineOf("x86-64-v4"), pe::DType::BF16), 0.0);
  EXPECT_EQ(measureProductPeak(one, hostCpu().machine, pe::DType::F16), 0.0);
}
