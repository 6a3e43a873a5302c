//===- CollectivesTest.cpp - Warp collectives against plain loops ---------===//

#include "runtime/device/emulator/Collectives.h"

#include <bit>
#include <gtest/gtest.h>
#include <vector>

using namespace pe::emulator;

namespace {

struct Lanes {
  std::array<std::array<uint64_t, 16>, kWarp> slots = {};
  Frames frames;
  Lanes() {
    for (int lane = 0; lane < kWarp; ++lane)
      frames[lane] = slots[lane].data();
  }
};

uint32_t bf16(float x) { return std::bit_cast<uint32_t>(x) >> 16; }
uint32_t f16(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
float asFloat(uint64_t slot) { return std::bit_cast<float>(static_cast<uint32_t>(slot)); }

/// Returns a small integer, which every type represents exactly.
float left(int row, int k) { return static_cast<float>((row * 7 + k * 3) % 11 - 5); }
float right(int k, int column) { return static_cast<float>((k * 5 + column * 2) % 9 - 4); }

} // namespace

TEST(CollectivesTest, Shuffles) {
  Lanes lanes;
  for (int lane = 0; lane < kWarp; ++lane)
    lanes.slots[lane] = {static_cast<uint64_t>(100 + lane), 6};
  evaluate(Collective::Shuffle, 0, lanes.frames);
  for (int lane = 0; lane < kWarp; ++lane)
    EXPECT_EQ(lanes.slots[lane][0], static_cast<uint64_t>(100 + (lane ^ 6)));
  for (int lane = 0; lane < kWarp; ++lane)
    lanes.slots[lane] = {static_cast<uint64_t>(lane), static_cast<uint64_t>(lane / 4 * 4)};
  evaluate(Collective::Shuffle, 3, lanes.frames);
  for (int lane = 0; lane < kWarp; ++lane)
    EXPECT_EQ(lanes.slots[lane][0], static_cast<uint64_t>(lane / 4 * 4));
}

TEST(CollectivesTest, MultiplyAdd) {
  for (int type : {0, 1}) {
    Lanes lanes;
    auto pack = [&](float low, float high) {
      return type == 0 ? bf16(low) | bf16(high) << 16 : f16(low) | f16(high) << 16;
    };
    for (int lane = 0; lane < kWarp; ++lane) {
      const int g = lane / 4, t = lane % 4;
      auto &slot = lanes.slots[lane];
      for (int i = 0; i < 4; ++i)
        slot[i] = pack(left(g + i % 2 * 8, 2 * t + i / 2 * 8),
                       left(g + i % 2 * 8, 2 * t + i / 2 * 8 + 1));
      for (int i = 0; i < 2; ++i)
        slot[4 + i] = pack(right(2 * t + i * 8, g), right(2 * t + i * 8 + 1, g));
      for (int i = 0; i < 4; ++i)
        slot[6 + i] = std::bit_cast<uint32_t>(static_cast<float>(lane + i));
    }
    evaluate(Collective::MultiplyAdd, type, lanes.frames);
    for (int lane = 0; lane < kWarp; ++lane)
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        float expected = static_cast<float>(lane + i);
        for (int k = 0; k < 16; ++k)
          expected += left(row, k) * right(k, column);
        EXPECT_EQ(asFloat(lanes.slots[lane][i]), expected) << row << " " << column;
      }
  }
}

TEST(CollectivesTest, MultiplyAddOfTf32) {
  Lanes lanes;
  auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    auto &slot = lanes.slots[lane];
    for (int i = 0; i < 4; ++i)
      slot[i] = bits(left(g + i % 2 * 8, t + i / 2 * 4));
    for (int i = 0; i < 2; ++i)
      slot[4 + i] = bits(right(t + i * 4, g));
    for (int i = 0; i < 4; ++i)
      slot[6 + i] = bits(static_cast<float>(lane + i));
  }
  evaluate(Collective::MultiplyAdd, 2, lanes.frames);
  for (int lane = 0; lane < kWarp; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float expected = static_cast<float>(lane + i);
      for (int k = 0; k < 8; ++k)
        expected += left(row, k) * right(k, column);
      EXPECT_EQ(asFloat(lanes.slots[lane][i]), expected) << row << " " << column;
    }
}

TEST(CollectivesTest, Reductions) {
  const int32_t expected[] = {-16, -1000, 15};
  for (int kind = 0; kind < 3; ++kind) {
    Lanes lanes;
    for (int lane = 0; lane < kWarp; ++lane)
      lanes.slots[lane][0] = static_cast<uint32_t>(kind == 1 && lane == 9 ? -1000 : lane - 16);
    evaluate(Collective::Reduce, kind, lanes.frames);
    for (int lane = 0; lane < kWarp; ++lane)
      EXPECT_EQ(static_cast<int32_t>(lanes.slots[lane][0]), expected[kind]) << kind;
  }
}

TEST(CollectivesTest, LoadMatrices) {
  alignas(16) uint16_t matrices[4][8][8];
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 8; ++column)
        matrices[matrix][row][column] = static_cast<uint16_t>(matrix * 100 + row * 8 + column);
  for (bool isTransposed : {false, true}) {
    Lanes lanes;
    for (int lane = 0; lane < kWarp; ++lane)
      lanes.slots[lane][0] = reinterpret_cast<uint64_t>(matrices[lane / 8][lane % 8]);
    evaluate(Collective::LoadMatrices, isTransposed, lanes.frames);
    for (int lane = 0; lane < kWarp; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int half = 0; half < 2; ++half) {
          const int first = lane / 4, second = lane % 4 * 2 + half;
          const uint32_t found = lanes.slots[lane][matrix] >> (16 * half) & 0xffff;
          EXPECT_EQ(found, isTransposed ? matrices[matrix][second][first]
                                        : matrices[matrix][first][second]);
        }
  }
}
