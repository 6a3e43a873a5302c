//===- ExactNumbers.cpp - Numbers between formats -------------------------===//

#include "runtime/ptx/ExactNumbers.h"

#include <algorithm>
#include <bit>

namespace pe::ptx {

namespace {

/// A binary format: bits of the fraction and of the exponent, and unused bits below.
struct Format {
  int fraction, exponent, unused;
  int bias() const { return (1 << (exponent - 1)) - 1; }
  uint64_t infinity() const { return ((uint64_t(1) << exponent) - 1) << fraction; }
};

Format formatOf(Type type) {
  switch (type) {
  case Type::F16:
    return {10, 5, 0};
  case Type::BF16:
    return {7, 8, 0};
  case Type::TF32:
    return {10, 8, 13};
  case Type::F32:
    return {23, 8, 0};
  default:
    return {52, 11, 0};
  }
}

bool isSignedInteger(Type type) { return type >= Type::S8 && type <= Type::S64; }

/// Returns magnitude / 2^shift, rounded; shift > 0.
uint64_t shiftRight(uint64_t magnitude, int shift, Rounding rounding, bool isNegative) {
  const uint64_t kept = shift >= 64 ? 0 : magnitude >> shift;
  // Twice the remainder compared with the divisor.
  const bool isInexact = shift >= 64 ? magnitude != 0 : (kept << shift) != magnitude;
  const bool halfBit = shift <= 64 && (magnitude >> (shift - 1) & 1);
  const bool belowHalf =
      shift > 64 ? magnitude != 0 : (magnitude & ((uint64_t(1) << (shift - 1)) - 1)) != 0;
  switch (rounding) {
  case Rounding::Zero:
    return kept;
  case Rounding::Down:
    return kept + (isNegative && isInexact);
  case Rounding::Up:
    return kept + (!isNegative && isInexact);
  case Rounding::Away:
    return kept + halfBit;
  default:
    return kept + (halfBit && (belowHalf || kept & 1));
  }
}

} // namespace

Number numberOf(Type type, uint64_t bits) {
  Number number;
  const int size = int(bytesOf(type)) * 8;
  if (type < Type::F16) {
    const int unused = 64 - size;
    const int64_t value = int64_t(bits << unused) >> unused;
    number.isNegative = isSignedInteger(type) && value < 0;
    number.magnitude = number.isNegative ? uint64_t(0) - uint64_t(value) : bits << unused >> unused;
    return number;
  }
  const Format format = formatOf(type);
  const uint64_t field = bits >> format.fraction & ((uint64_t(1) << format.exponent) - 1);
  const uint64_t fraction = bits & ((uint64_t(1) << format.fraction) - 1);
  number.isNegative = bits >> (size - 1) & 1;
  if (field == (uint64_t(1) << format.exponent) - 1) {
    number.kind = fraction ? Number::NotANumber : Number::Infinite;
    return number;
  }
  number.magnitude = field ? fraction | uint64_t(1) << format.fraction : fraction;
  number.exponent = int(field ? field : 1) - format.bias() - format.fraction;
  return number;
}

Number roundedToInteger(const Number &number, Rounding rounding) {
  if (number.kind != Number::Finite || number.exponent >= 0)
    return number;
  Number result = number;
  result.magnitude = shiftRight(number.magnitude, -number.exponent, rounding, number.isNegative);
  result.exponent = 0;
  return result;
}

Number saturated(const Number &number) {
  if (number.kind == Number::NotANumber || number.isNegative)
    return Number();
  Number one;
  one.magnitude = 1;
  if (number.kind == Number::Infinite)
    return one;
  const int top = 64 - std::countl_zero(number.magnitude) + number.exponent;
  return number.magnitude && top > 0 ? one : number;
}

uint64_t clampedInteger(const Number &number, Type type, Rounding rounding) {
  if (number.kind == Number::NotANumber)
    return 0;
  const unsigned size = bytesOf(type) * 8;
  const bool isSigned = isSignedInteger(type);
  const uint64_t all = ~uint64_t(0) >> (64 - size);
  const uint64_t most =
      number.isNegative ? (isSigned ? (all >> 1) + 1 : 0) : (isSigned ? all >> 1 : all);
  uint64_t magnitude = most;
  if (number.kind == Number::Finite) {
    const Number rounded = roundedToInteger(number, rounding);
    const int room = std::countl_zero(rounded.magnitude);
    if (rounded.magnitude == 0)
      magnitude = 0;
    else if (rounded.exponent <= room && rounded.exponent < 64)
      magnitude = std::min(most, rounded.magnitude << rounded.exponent);
  }
  return (number.isNegative ? uint64_t(0) - magnitude : magnitude) & all;
}

uint64_t encode(const Number &number, Type type, Rounding rounding, bool isFinite) {
  const Format format = formatOf(type);
  const uint64_t sign = uint64_t(number.isNegative) << (format.fraction + format.exponent);
  const uint64_t infinity = format.infinity();
  if (number.kind == Number::NotANumber)
    return type == Type::F64    ? 0x7FF8000000000000
           : type == Type::TF32 ? 0x7FFFFFFF
                                : infinity | ((uint64_t(1) << format.fraction) - 1);
  uint64_t bits = infinity;
  if (number.kind == Number::Finite) {
    if (number.magnitude == 0)
      return sign << format.unused;
    // The exponents of the first bit and of the last one that the format keeps.
    const int top = 63 - std::countl_zero(number.magnitude) + number.exponent;
    const int last = std::max(top, 1 - format.bias()) - format.fraction;
    const int shift = last - number.exponent;
    const uint64_t kept = shift <= 0
                              ? number.magnitude << -shift
                              : shiftRight(number.magnitude, shift, rounding, number.isNegative);
    // A carry out of the fraction increments the exponent, as does the hidden bit.
    const int64_t field = int64_t(last) + format.fraction + format.bias() - 1;
    bits = field >= (int64_t(1) << format.exponent)
               ? infinity
               : std::min(infinity, (uint64_t(field) << format.fraction) + kept);
    const bool isTowardZero = rounding == Rounding::Zero ||
                              (rounding == Rounding::Down && !number.isNegative) ||
                              (rounding == Rounding::Up && number.isNegative);
    if (bits == infinity && isTowardZero)
      bits = infinity - 1;
  }
  if (bits == infinity && isFinite)
    bits = infinity - 1;
  return (sign | bits) << format.unused;
}

} // namespace pe::ptx
