//===- IntegerRules.h - Values of integer operations ------------*- C++ -*-===//
//
// The integer operations that a bias may use, one row per operation. Integers have a width: 64 bits
// for type index, 1 for a boolean. They are stored sign-extended in an int64_t, so true is -1, and
// wrap around at their width.
//
//   arith.divui on i32:  -5 / 7  is  (2^32 - 5) / 7 = 613566755
//   arith.divsi:          x / 0  is  0, and so is the remainder
//   arith.shli on i32:   1 << 32 is  0: all bits are shifted out
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_INTEGERRULES_H
#define PE_RUNTIME_REFERENCE_INTEGERRULES_H

#include <cstdint>
#include <string_view>

namespace pe::reference {

/// Returns the low `bits` bits of x as a signed and as an unsigned number.
int64_t signExtend(int64_t x, unsigned bits);
uint64_t zeroExtend(int64_t x, unsigned bits);

/// Operands are `bits` wide; the caller wraps the result to its width. Operations with one operand
/// ignore b.
struct IntegerRule {
  std::string_view name;
  unsigned arity;
  int64_t (*value)(int64_t a, int64_t b, unsigned bits);
};

/// Returns the row of an operation such as "arith.addi" or "arith.extui", or null.
const IntegerRule *findIntegerRule(std::string_view name);

/// Returns the comparison of `arith.cmpi` with a keyword ("sge") or MLIR's number of a predicate,
/// or null. Values are -1 (true) and 0.
const IntegerRule *findIntegerComparison(std::string_view keyword);
const IntegerRule *findIntegerComparison(int64_t number);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_INTEGERRULES_H
