//===- ExactNumbers.h - Numbers between formats -----------------*- C++ -*-===//
//
// A value of any type as a sign, an integer and a power of two, and its rounding to any type.
//
//   encode(numberOf(Type::F64, bits), Type::BF16, Rounding::Down, false)
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_EXACTNUMBERS_H
#define PE_RUNTIME_PTX_EXACTNUMBERS_H

#include "runtime/ptx/Syntax.h"

namespace pe::ptx {

/// Nearest: ties to even; Away: ties away from zero.
enum class Rounding : uint8_t { Nearest, Zero, Down, Up, Away };

/// magnitude * 2^exponent, unless it is infinite or NaN.
struct Number {
  enum Kind : uint8_t { Finite, Infinite, NotANumber };
  Kind kind = Finite;
  bool isNegative = false;
  uint64_t magnitude = 0;
  int exponent = 0;
};

/// Returns the value of the low bits of `bits`, of an integer or floating-point type.
Number numberOf(Type type, uint64_t bits);
/// Rounds to an integer, unless the number is infinite or NaN.
Number roundedToInteger(const Number &number, Rounding rounding);
/// Returns the number clamped to [0, 1], and 0 for NaN.
Number saturated(const Number &number);
/// Returns the bits of the integer of `type` that the number rounds to, clamped to the range of the
/// type; 0 for NaN.
uint64_t clampedInteger(const Number &number, Type type, Rounding rounding);
/// Returns the bits of the value of a floating-point type that the number rounds to. With
/// `isFinite`, the greatest finite value replaces infinity.
uint64_t encode(const Number &number, Type type, Rounding rounding, bool isFinite);

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_EXACTNUMBERS_H
