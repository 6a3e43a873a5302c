//===- ObjectLoaderTest.cpp - Loading of valid and damaged objects --------===//

#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/core/File.h"
#include "runtime/core/Random.h"
#include "runtime/device/cpu/RuntimeSymbols.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace pe;
using namespace pe::cpu;

using Compute = float (*)(float *, long, int);

class ObjectLoaderModels : public testing::TestWithParam<const char *> {};

TEST_P(ObjectLoaderModels, CodeRuns) {
  Expected<std::string> bytes = readFile(GetParam());
  ASSERT_TRUE(bytes) << bytes.error().getMessage();
  Expected<std::shared_ptr<LoadedCode>> code = loadObject(*bytes);
  ASSERT_TRUE(code) << code.error().getMessage();
  auto compute = reinterpret_cast<Compute>((*code)->lookup("loaderCompute"));
  auto bump = reinterpret_cast<void (*)()>((*code)->lookup("loaderBump"));
  ASSERT_TRUE(compute && bump);
  float x[5] = {0.5f, 2, 3, 4, 5};
  const float expected[] = {5, 6, 5, std::exp(0.5f), 9.75f, 20, 15};
  for (int what = 0; what < 7; ++what)
    EXPECT_FLOAT_EQ(compute(x, 5, what), expected[what]) << what;
  bump();
  EXPECT_FLOAT_EQ(compute(x, 4, 5), 11);
  EXPECT_EQ(compute(x, 5, 7), -1);
  EXPECT_EQ(x[4], 0);
  EXPECT_EQ((*code)->lookup("local"), nullptr);
  EXPECT_EQ((*code)->lookup("none"), nullptr);
}

// Two loads of one object have separate variables.
TEST_P(ObjectLoaderModels, LoadsAreIndependent) {
  Expected<std::string> bytes = readFile(GetParam());
  ASSERT_TRUE(bytes);
  auto a = loadObject(*bytes), b = loadObject(*bytes);
  ASSERT_TRUE(a && b);
  reinterpret_cast<void (*)()>((*a)->lookup("loaderBump"))();
  float x[4] = {};
  EXPECT_FLOAT_EQ(reinterpret_cast<Compute>((*a)->lookup("loaderCompute"))(x, 4, 5), 11);
  EXPECT_FLOAT_EQ(reinterpret_cast<Compute>((*b)->lookup("loaderCompute"))(x, 4, 5), 10);
}

INSTANTIATE_TEST_SUITE_P(Models, ObjectLoaderModels,
                         testing::Values(PE_LOADER_OBJECT_SMALL, PE_LOADER_OBJECT_LARGE));

TEST(ObjectLoader, RejectsOtherFiles) {
  for (const char *bytes : {"",
                            "\x7f"
                            "ELF",
                            "some text that is not an object"}) {
    auto code = loadObject(bytes);
    ASSERT_FALSE(code);
    EXPECT_NE(code.error().getMessage().find("expected an ELF file"), std::string::npos);
  }
  Expected<std::string> program = readFile("/proc/self/exe");
  ASSERT_TRUE(program);
  auto code = loadObject(*program);
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().getMessage().find("relocatable object"), std::string::npos);
}

TEST(ObjectLoader, NamesUnknownSymbols) {
  Expected<std::string> bytes = readFile(PE_LOADER_OBJECT_SMALL);
  ASSERT_TRUE(bytes);
  // Replaces every occurrence of the name, because debug sections may contain it.
  for (size_t at; (at = bytes->find(std::string("expf\0", 5))) != std::string::npos;)
    bytes->replace(at, 4, "ex_f");
  auto code = loadObject(*bytes);
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().getMessage().find("'ex_f'"), std::string::npos);
}

TEST(ObjectLoader, RejectsTruncation) {
  Expected<std::string> bytes = readFile(PE_LOADER_OBJECT_SMALL);
  ASSERT_TRUE(bytes);
  for (size_t size = 0; size < bytes->size(); size += 7)
    EXPECT_FALSE(loadObject(std::string_view(*bytes).substr(0, size))) << size;
}

// A damaged object may load (with a changed constant) or be rejected, but loading never crashes.
TEST(ObjectLoader, RandomDamageDoesNotCrash) {
  for (const char *file : {PE_LOADER_OBJECT_SMALL, PE_LOADER_OBJECT_LARGE}) {
    Expected<std::string> good = readFile(file);
    ASSERT_TRUE(good);
    Random random(7, file == std::string(PE_LOADER_OBJECT_SMALL) ? "small" : "large");
    int refused = 0;
    for (int round = 0; round < 5000; ++round) {
      std::string bytes = *good;
      for (uint64_t edits = 1 + random.below(6); edits > 0; --edits)
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      refused += !loadObject(bytes);
    }
    EXPECT_GT(refused, 100);
  }
}

TEST(RuntimeSymbols, RoundsToBf16LikeTheProcessor) {
  auto *truncate = reinterpret_cast<__bf16 (*)(float)>(findRuntimeSymbol("__truncsfbf2"));
  ASSERT_TRUE(truncate);
  auto bitsOf = [&](float value) {
    const __bf16 rounded = truncate(value);
    uint16_t bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    return bits;
  };
  EXPECT_EQ(bitsOf(1.0f), 0x3F80);
  EXPECT_EQ(bitsOf(1.0f + 0x1p-8f), 0x3F80) << "a tie rounds down to even";
  EXPECT_EQ(bitsOf(1.0f + 3 * 0x1p-8f), 0x3F82) << "a tie rounds up to even";
  EXPECT_EQ(bitsOf(-1.0f - 0x1p-8f - 0x1p-20f), 0xBF81);
  EXPECT_EQ(bitsOf(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bitsOf(-INFINITY), 0xFF80);
  const uint16_t nan = bitsOf(std::nanf(""));
  EXPECT_EQ(nan & 0x7F80, 0x7F80);
  EXPECT_NE(nan & 0x7F, 0);
}
