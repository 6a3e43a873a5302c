//===- HalfBuiltins.cpp - Conversions of _Float16 that older systems lack -===//
//
// On processors without F16C, the compiler calls these functions of libgcc, which has them since
// GCC 12; the wheel requires only GCC 11. They are local to the library.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/DType.h"

#include <bit>

#define PE_LOCAL extern "C" __attribute__((visibility("hidden"), used))

PE_LOCAL float __extendhfsf2(_Float16 value) {
  return pe::f16ToFloat(std::bit_cast<uint16_t>(value));
}

PE_LOCAL _Float16 __truncsfhf2(float value) {
  return std::bit_cast<_Float16>(pe::floatToF16(value));
}

/// Rounds to single precision to odd first: rounding that to half precision equals rounding once.
PE_LOCAL _Float16 __truncdfhf2(double value) {
  const float nearest = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) != value && value == value) {
    const bool isAbove =
        (value < 0 ? -double(nearest) : double(nearest)) > (value < 0 ? -value : value);
    bits = (bits - isAbove) | 1;
  }
  return __truncsfhf2(std::bit_cast<float>(bits));
}
