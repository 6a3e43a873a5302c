//===- DType.cpp - Conversions between element types ----------------------===//

#include "runtime/core/DType.h"

#include <bit>
#include <cmath>

namespace pe {

float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t floatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  // Adds half a unit in the last place, minus one if the kept part is even: ties go to even.
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float f16ToFloat(uint16_t bits) {
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t mantissa = bits & 0x3FF;
  float magnitude;
  if (exponent == 0x1F)
    magnitude = std::bit_cast<float>(0x7F800000u | (mantissa << 13));
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  else
    magnitude = std::bit_cast<float>(((exponent + 112) << 23) | (mantissa << 13));
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t floatToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  if (std::isnan(value))
    return sign | 0x7E00;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) // halfway between the largest f16 and the next power of two
    return sign | 0x7C00;
  if (magnitude < 0x1p-14f) // subnormal: a multiple of 2^-24, rounded to even by the hardware
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f));
  const uint32_t kept = std::bit_cast<uint32_t>(magnitude) - (112u << 23);
  return sign | static_cast<uint16_t>((kept + 0xFFF + ((kept >> 13) & 1)) >> 13);
}

float roundToTf32(float value) {
  if (std::isnan(value))
    return value;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000) & ~0x1FFFu);
}

} // namespace pe
