//===- HalfFloats.h - Formats of floating-point values ----------*- C++ -*-===//
//
// f16 and bf16 values as bits, subnormal inputs and results, and the NaN of results. All functions
// are free of branches, so that loops over lanes vectorize.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_HALFFLOATS_H
#define PE_RUNTIME_PTX_HALFFLOATS_H

#include "runtime/ptx/LaneLoops.h"

#include <limits>

namespace pe::ptx {

inline constexpr uint32_t kSingleNaN = 0x7FFFFFFF;
inline constexpr uint16_t kHalfNaN = 0x7FFF;

/// f16: conversions from and, rounding to nearest even, to single precision.
struct Half {
  static constexpr uint16_t kExponent = 0x7C00, kOne = 0x3C00;
  static float widen(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }
  static uint16_t narrow(float value) {
    const uint16_t bits = std::bit_cast<uint16_t>(_Float16(value));
    return value != value ? kHalfNaN : bits;
  }
};

/// bf16.
struct Brain {
  static constexpr uint16_t kExponent = 0x7F80, kOne = 0x3F80;
  static float widen(uint16_t bits) { return asFloat(uint32_t(bits) << 16); }
  static uint16_t narrow(float value) {
    const uint32_t bits = asBits(value);
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return uint16_t(value != value ? uint32_t(kHalfNaN) : rounded);
  }
};

/// Replaces a subnormal value by zero of its sign if kFlush.
template <bool kFlush> float flush(float value) {
  const uint32_t bits = asBits(value);
  return kFlush && (bits & 0x7F800000) == 0 ? asFloat(bits & 0x80000000) : value;
}
template <bool kFlush> double flush(double value) { return value; }
template <typename Format, bool kFlush> uint16_t flushHalf(uint16_t bits) {
  return kFlush && (bits & Format::kExponent) == 0 ? uint16_t(bits & 0x8000) : bits;
}

/// Returns the NaN of results instead of any other NaN of single precision. Compares integers:
/// the compiler may take NaN values for equal and drop a choice between them.
inline float canonical(float value) {
  const uint32_t bits = asBits(value);
  return asFloat((bits & 0x7FFFFFFF) > 0x7F800000 ? kSingleNaN : bits);
}
inline double canonical(double value) { return value; }

/// Clamps to [0, 1]; NaN becomes 0.
template <typename T> T saturate(T value) {
  const T low = value > T(0) ? value : T(0);
  return low < T(1) ? low : T(1);
}
/// Clamps to [0, inf); NaN stays NaN.
template <typename T> T rectify(T value) { return value <= T(0) ? T(0) : value; }

/// Applies .ftz and .sat to a result.
template <bool kFlush, bool kSaturate, typename T> T finish(T value) {
  const T result = flush<kFlush>(canonical(value));
  return kSaturate ? saturate(result) : result;
}

/// Returns the value next to `rounded` whose last bit is 1 if `error`, the exact result minus
/// `rounded`, is not 0: a sum rounded to odd. Rounding it again to a format that has two bits less
/// gives the exact result rounded once.
template <typename T> T toOdd(T rounded, T error) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Bits bits = std::bit_cast<Bits>(rounded);
  const bool isInexact = error > T(0) || error < T(0);
  // A result that underflows to 0 has the sign of the error.
  const bool isAway = (error > T(0)) == (bits >> (sizeof(T) * 8 - 1) == 0);
  const Bits odd = bits & 1 ? bits : isAway ? bits + 1 : bits - 1;
  return std::bit_cast<T>(isInexact ? odd : bits);
}

/// Returns a + b rounded to odd.
template <typename T> T addToOdd(T a, T b) {
  const T sum = a + b;
  const T bRounded = sum - a;
  const T aRounded = sum - bRounded;
  const T bError = b - bRounded;
  const T aError = a - aRounded;
  return toOdd(sum, T(aError + bError));
}

/// Rounds to single precision, to odd.
inline float singleToOdd(double value) {
  const float rounded = float(value);
  // The sign of the difference, as the difference itself may be subnormal in single precision.
  const double difference = value - double(rounded);
  return toOdd(rounded, float((difference > 0) - (difference < 0)));
}

/// Returns a * b + c such that narrowing rounds the exact value once.
inline float fusedFor(Half, float a, float b, float c) {
  const float product = a * b; // exact: 22 bits
  return addToOdd(product, c);
}
inline float fusedFor(Brain, float a, float b, float c) {
  const double product = double(a) * double(b); // exact: 16 bits
  return singleToOdd(addToOdd(product, double(c)));
}

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_HALFFLOATS_H
