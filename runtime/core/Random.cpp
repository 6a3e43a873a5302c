//===- Random.cpp - Reproducible random numbers ---------------------------===//

#include "runtime/core/Random.h"

#include "runtime/core/DType.h"
#include "runtime/core/Hash.h"

#include <cmath>
#include <numbers>

namespace pe {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * counter[0];
    const uint64_t b = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Random::Random(uint64_t seed, std::string_view streamName)
    : key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
      stream(hash64(streamName)) {}

uint32_t Random::next() {
  if (used == 4) {
    block = philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                        static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                       key);
    ++position;
    used = 0;
  }
  return block[used++];
}

uint64_t Random::next64() {
  const uint64_t low = next();
  return low | (static_cast<uint64_t>(next()) << 32);
}

double Random::uniform() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Random::normal() {
  if (hasSpare) {
    hasSpare = false;
    return spare;
  }
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare = radius * std::sin(angle);
  hasSpare = true;
  return radius * std::cos(angle);
}

uint64_t Random::below(uint64_t bound) {
  assert(bound > 0 && "below() needs a positive bound");
  const uint64_t excess = (0 - bound) % bound; // rejects 2^64 mod bound values to avoid a bias
  uint64_t bits;
  do
    bits = next64();
  while (bits < excess);
  return bits % bound;
}

namespace {

/// Fills `tensor` in row-major order with the values that `draw` returns.
template <typename Draw> void fill(Tensor &tensor, Draw draw) {
  assert(isFloating(tensor.dtype()) && "random numbers fill floating tensors only");
  Tensor packed = tensor.isContiguous() ? tensor : Tensor::empty(tensor.dtype(), tensor.shape());
  for (int64_t i = 0, count = packed.numel(); i < count; ++i) {
    const double value = draw();
    if (packed.dtype() == DType::F32)
      packed.data<float>()[i] = static_cast<float>(value);
    else if (packed.dtype() == DType::F64)
      packed.data<double>()[i] = value;
    else
      static_cast<uint16_t *>(packed.rawData())[i] = packed.dtype() == DType::BF16
                                                         ? floatToBf16(static_cast<float>(value))
                                                         : floatToF16(static_cast<float>(value));
  }
  if (!tensor.isContiguous())
    tensor.copyFrom(packed);
}

} // namespace

void Random::fillUniform(Tensor &tensor, double low, double high) {
  fill(tensor, [&] { return uniform(low, high); });
}

void Random::fillNormal(Tensor &tensor, double mean, double deviation) {
  fill(tensor, [&] { return mean + deviation * normal(); });
}

} // namespace pe
