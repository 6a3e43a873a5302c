//===- Collectives.cpp - What the lanes of a warp do together -------------===//
//
// Fragment layouts: PTX ISA, "Matrix Fragments for mma.m16n8k16", "... mma.m16n8k8" and "ldmatrix".
// Lane l has g = l/4 and t = l%4.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/emulator/Collectives.h"

#include "runtime/core/DType.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace pe::emulator {

namespace {

float fromBf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
float fromF16(uint32_t bits) { return f16ToFloat(static_cast<uint16_t>(bits)); }
float asFloat(uint64_t slot) { return std::bit_cast<float>(static_cast<uint32_t>(slot)); }

/// mma.sync m16n8kK; `fill` puts a lane's registers of the left and right side where they belong.
template <int K, typename Fill> void multiplyAdd(const Frames &frames, Fill fill) {
  float a[16][K], b[K][8], c[16][8];
  for (int lane = 0; lane < kWarp; ++lane) {
    fill(frames[lane], lane / 4, lane % 4, a, b);
    for (int i = 0; i < 4; ++i)
      c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = asFloat(frames[lane][6 + i]);
  }
  for (int k = 0; k < K; ++k)
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column)
        c[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < kWarp; ++lane)
    for (int i = 0; i < 4; ++i)
      frames[lane][i] = std::bit_cast<uint32_t>(c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
}

template <typename Convert> void multiplyAddPairs(const Frames &frames, Convert convert) {
  multiplyAdd<16>(frames, [&](const uint64_t *frame, int g, int t, auto &a, auto &b) {
    for (int i = 0; i < 4; ++i) {
      const uint32_t pair = static_cast<uint32_t>(frame[i]);
      const int row = g + i % 2 * 8, column = t * 2 + i / 2 * 8;
      a[row][column] = convert(pair & 0xffff);
      a[row][column + 1] = convert(pair >> 16);
    }
    for (int i = 0; i < 2; ++i) {
      const uint32_t pair = static_cast<uint32_t>(frame[4 + i]);
      b[t * 2 + i * 8][g] = convert(pair & 0xffff);
      b[t * 2 + i * 8 + 1][g] = convert(pair >> 16);
    }
  });
}

void multiplyAddTf32(const Frames &frames) {
  multiplyAdd<8>(frames, [](const uint64_t *frame, int g, int t, auto &a, auto &b) {
    for (int i = 0; i < 4; ++i)
      a[g + i % 2 * 8][t + i / 2 * 4] = asFloat(frame[i]);
    for (int i = 0; i < 2; ++i)
      b[t + i * 4][g] = asFloat(frame[4 + i]);
  });
}

void loadMatrices(const Frames &frames, bool isTransposed) {
  uint32_t result[kWarp][4];
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int lane = 0; lane < kWarp; ++lane) {
      const int g = lane / 4, t = lane % 4;
      auto element = [&](int row, int column) {
        const auto *first = reinterpret_cast<const uint16_t *>(frames[matrix * 8 + row][0]);
        return static_cast<uint32_t>(first[column]);
      };
      const uint32_t low = isTransposed ? element(2 * t, g) : element(g, 2 * t);
      const uint32_t high = isTransposed ? element(2 * t + 1, g) : element(g, 2 * t + 1);
      result[lane][matrix] = low | high << 16;
    }
  for (int lane = 0; lane < kWarp; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix)
      frames[lane][matrix] = result[lane][matrix];
}

void shuffle(const Frames &frames, bool isIndex) {
  uint64_t values[kWarp];
  for (int lane = 0; lane < kWarp; ++lane)
    values[lane] = frames[lane][0];
  for (int lane = 0; lane < kWarp; ++lane) {
    const int operand = static_cast<int>(frames[lane][1]) & 31;
    frames[lane][0] = values[isIndex ? operand : lane ^ operand];
  }
}

void reduce(const Frames &frames, int32_t detail) {
  auto valueOf = [&](int lane) { return static_cast<int32_t>(frames[lane][0]); };
  int32_t result = valueOf(0);
  for (int lane = 1; lane < kWarp; ++lane) {
    const int32_t value = valueOf(lane);
    result = detail == 0   ? static_cast<int32_t>(static_cast<uint32_t>(result) + value)
             : detail == 1 ? std::min(result, value)
                           : std::max(result, value);
  }
  for (int lane = 0; lane < kWarp; ++lane)
    frames[lane][0] = static_cast<uint32_t>(result);
}

} // namespace

void evaluate(Collective what, int32_t detail, const Frames &frames) {
  switch (what) {
  case Collective::SyncWarp:
    return;
  case Collective::Shuffle:
    return shuffle(frames, detail == 3);
  case Collective::LoadMatrices:
    return loadMatrices(frames, detail & 1);
  case Collective::Reduce:
    return reduce(frames, detail);
  case Collective::MultiplyAdd:
    return detail == 0   ? multiplyAddPairs(frames, fromBf16)
           : detail == 1 ? multiplyAddPairs(frames, fromF16)
                         : multiplyAddTf32(frames);
  }
}

bool isTf32(uint32_t bits) {
  return (bits & 0x1FFF) == 0 || std::isnan(std::bit_cast<float>(bits));
}

} // namespace pe::emulator
