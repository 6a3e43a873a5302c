//===- RandomTest.cpp - Philox and the distributions ----------------------===//

#include "runtime/core/Random.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace pe;

// Known answers of Random123 (kat_vectors).
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, StreamsAreReproducibleAndDifferent) {
  Random a(7, "q"), again(7, "q"), otherName(7, "k"), otherSeed(8, "q");
  const uint64_t first = a.next64();
  EXPECT_EQ(first, again.next64());
  EXPECT_NE(first, otherName.next64());
  EXPECT_NE(first, otherSeed.next64());
}

TEST(Random, NormalHasExpectedMoments) {
  Tensor x = Tensor::empty(DType::F32, {200000});
  Random(1, "x").fillNormal(x, 1.0, 2.0);
  double sum = 0, squares = 0, fourth = 0;
  for (float v : x.values<float>()) {
    const double z = (v - 1.0) / 2.0;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / 200000, 0, 0.01);
  EXPECT_NEAR(squares / 200000, 1, 0.02);
  EXPECT_NEAR(fourth / 200000, 3, 0.1);
}

TEST(Random, UniformCoversItsRange) {
  Tensor x = Tensor::empty(DType::F64, {10000});
  Random(3, "x").fillUniform(x, -1.0, 3.0);
  double low = 3, high = -1;
  for (double v : x.values<double>()) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  EXPECT_GE(low, -1.0);
  EXPECT_LT(high, 3.0);
  EXPECT_LT(low, -0.99);
  EXPECT_GT(high, 2.99);
}

TEST(Random, BelowIsUniform) {
  Random random(5, "below");
  std::array<int, 6> counts{};
  for (int i = 0; i < 60000; ++i)
    ++counts[random.below(6)];
  for (int count : counts)
    EXPECT_NEAR(count, 10000, 400);
}

// A view is filled in its own row-major order, like a contiguous tensor of the same shape.
TEST(Random, ViewsAreFilledInRowMajorOrder) {
  Tensor packed = Tensor::zeros(DType::F32, {2, 3});
  Tensor base = Tensor::zeros(DType::F32, {3, 2});
  Tensor view = base.transpose(0, 1);
  Random(9, "x").fillNormal(packed, 0, 1);
  Random(9, "x").fillNormal(view, 0, 1);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      EXPECT_EQ(packed.data<float>()[i * 3 + j], base.data<float>()[j * 2 + i]);
}
